drop table restores;
