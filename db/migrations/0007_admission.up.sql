-- Admission beyond quota and attempts: what a workload collects on its way, and a state between waiting and running.

-- Active or not, checks, back-off, evictions; and those fields of the spec that may change later (priority, queue).
-- Null for the most. Owner: the engine, and acceptance for its first value.
alter table job_state add column admission_state json;

-- Reserved (8): quota is held and nothing was sent to a member, until all admission checks are ready.
alter table job_state drop constraint job_state_state_check;
alter table job_state add constraint job_state_state_check check (state between 1 and 8);
drop index job_state_live;
drop index job_state_ended;
alter table job_state drop column terminal;
alter table job_state add column terminal boolean not null generated always as (state between 5 and 7) stored;
create index job_state_live on job_state (job_id) where not terminal;
create index job_state_ended on job_state (end_time) where terminal;
alter table job_state drop constraint job_state_check1;
alter table job_state drop constraint job_state_check2;
alter table job_state drop constraint job_state_check3;
alter table job_state add constraint job_state_deleted check (deleted_at is null or state between 5 and 7);
alter table job_state add constraint job_state_holds check (admission is not null or state not in (3, 4, 8));
alter table job_state add constraint job_state_held check (admission is null or state in (3, 4, 5, 6, 7, 8));
