-- What only holds quota waits again; the daemon of before corrects the usage when it starts.
update job_state set state = 2, admission = null where state = 8;
alter table job_state drop constraint job_state_held;
alter table job_state drop constraint job_state_holds;
alter table job_state drop constraint job_state_deleted;
alter table job_state add constraint job_state_check1 check (deleted_at is null or state >= 5);
alter table job_state add constraint job_state_check2 check (admission is not null or state not in (3, 4));
alter table job_state add constraint job_state_check3 check (admission is null or state in (3, 4) or state >= 5);
drop index job_state_live;
drop index job_state_ended;
alter table job_state drop column terminal;
alter table job_state add column terminal boolean not null generated always as (state >= 5) stored;
create index job_state_live on job_state (job_id) where not terminal;
create index job_state_ended on job_state (end_time) where terminal;
alter table job_state drop constraint job_state_state_check;
alter table job_state add constraint job_state_state_check check (state between 1 and 7);
alter table job_state drop column admission_state;
