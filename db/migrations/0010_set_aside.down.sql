drop table set_aside_objects;
