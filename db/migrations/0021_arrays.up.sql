-- Job arrays: one row stands for all tasks that wait; a task gets a row of its own when it starts.

-- The array that the job belongs to, and its index there; -1: the row of waiting tasks. Null: not of an array.
-- A task has no manifest of its own: it is that of job array_job_id. Owner: acceptance; array_task_id of the last waiting
-- task, which keeps the array's row, is written by the engine when it starts.
alter table jobs alter column manifest drop not null;
alter table jobs add column array_job_id bigint, add column array_task_id integer;
update jobs set array_job_id = (batch ->> 'arrayJobId')::bigint,
                array_task_id = coalesce((batch ->> 'arrayTaskId')::integer, -1)
  where batch ->> 'arrayJobId' is not null;
alter table jobs add constraint jobs_manifest check (manifest is not null or array_job_id is not null);
create index jobs_array on jobs (array_job_id, array_task_id) where array_job_id is not null;
