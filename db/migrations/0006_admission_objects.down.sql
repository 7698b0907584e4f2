drop table runtime_classes;
drop table limit_ranges;
drop table admission_checks;
drop table topologies;
