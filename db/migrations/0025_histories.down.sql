drop function muster_last_numbers();
drop table histories;
