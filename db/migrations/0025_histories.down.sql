drop function muster_last_numbers();
drop function muster_timeline();
drop table histories;
