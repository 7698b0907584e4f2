drop table resource_snapshots;
drop table works;
