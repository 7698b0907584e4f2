alter table jobs drop column next_column;
drop table next_things;
