drop table steps;
alter table attempts drop column use;
