-- Execution: quota held, attempts, dispatches; and the record of changes. Times are microseconds since 1970.

-- Quota held at this version. Owner: the engine. Recovery recomputes it from job_state and compares.
create table quota_usage (
  cluster_queue text not null,
  flavor        text not null,
  resource      text not null,
  amount        bigint not null check (amount >= 0),  -- cpu in milli-units, others in base units
  version       bigint not null default 1,            -- grows with each change
  primary key (cluster_queue, flavor, resource)
) with (fillfactor = 50);

-- One row an attempt: accounting. Owner: the engine. A row whose end_time is set is closed and never changes.
create table attempts (
  job_id      bigint not null references jobs (id),
  attempt     integer not null check (attempt >= 1),
  cluster     text not null,
  admit_time  bigint,
  start_time  bigint,
  end_time    bigint,
  outcome     smallint not null check (outcome between 1 and 7),  -- JobState; Pending when it was requeued
  reason      text not null,
  message     text not null,
  exit_code   integer,
  exit_signal integer not null,
  admission   json,  -- what it held: the basis of charges
  primary key (job_id, attempt)
);
create index attempts_ended on attempts (end_time) where end_time is not null;

-- What was made to exist on a member cluster. Owner: the engine. The partial unique indexes make a double run a
-- constraint error, whatever the code above believes.
create table dispatches (
  job_uid     uuid not null references jobs (uid),
  attempt     integer not null check (attempt >= 1),
  job_id      bigint not null,
  cluster     text not null check (cluster <> ''),
  incarnation text not null,   -- of the member, '' if unknown
  object_kind text not null,
  namespace   text not null,
  name        text not null,
  remote_uid  text not null,   -- '' until recorded
  state       smallint not null check (state between 1 and 13),  -- DispatchState
  live        boolean not null generated always as (state not in (6, 7, 8, 12)) stored,  -- may have running pods
  gone        boolean not null generated always as (state = 8) stored,
  detail      text not null,
  primary key (job_uid, attempt)
) with (fillfactor = 70);
create unique index dispatches_one_live on dispatches (job_uid) where live;
create unique index dispatches_name on dispatches (cluster, object_kind, namespace, name) where not gone;

-- Committed, numbered changes. Owner: the engine. JobAccepted is not stored here: jobs.accept_seq is that event.
create table events (
  seq     bigint primary key,
  time    bigint not null,
  type    text not null check (type <> ''),
  job_id  bigint,  -- null for objects
  object  text not null,
  reason  text not null,
  message text not null
);
create index events_job on events (job_id, seq) where job_id is not null;

-- Who changed what. Owner: the engine. Append only.
create table audit (
  id        bigint generated always as identity primary key,
  time      bigint not null,
  user_name text not null,
  method    text not null,
  verb      text not null,
  object    text not null,
  detail    text not null
);
