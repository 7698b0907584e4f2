-- Planted for tests: what the next version's migration may do beside a leader of this version. Nothing reads it.
create table next_things (id bigint primary key, what text not null);
alter table jobs add column next_column integer;
select muster_grant_roles();
