-- Steps of batch scripts (srun), and what was measured of the processes of attempts and steps.

-- What an attempt used, as JSON (user and system CPU, peak memory, bytes read and written). Null: not measured.
-- Owner: the engine.
alter table attempts add column use json;

-- One row a step. Owner: the engine. A row whose end_time is set is closed and never changes.
create table steps (
  job_id      bigint not null references jobs (id),
  attempt     integer not null check (attempt >= 1),
  step        integer not null check (step >= 0),
  name        text not null,
  nodes       text not null,
  node_count  integer not null,
  tasks       integer not null,
  cpus        integer not null,
  state       smallint not null check (state between 1 and 6),  -- StepState
  start_time  bigint,
  end_time    bigint,
  exit_code   integer not null,
  exit_signal integer not null,
  use         json,  -- as in attempts
  primary key (job_id, attempt, step)
) with (fillfactor = 70);

alter table steps enable row level security;

select muster_grant_roles();
