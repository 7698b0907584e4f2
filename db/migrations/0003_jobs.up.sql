-- Jobs: what was submitted (wide, written once) apart from how it goes (narrow, updated in place).
-- Measured: updating state on the wide table writes 25 times the WAL. Times are microseconds since 1970.

-- Immutable. Owner: acceptance (Store::Accept). History stays after the object's deletion.
create table jobs (
  id                   bigint primary key check (id > 0),  -- the number users see; given by the engine, never reused
  uid                  uuid not null unique,
  namespace            text not null check (namespace <> ''),
  kind                 smallint not null check (kind between 1 and 8),  -- ShapeKind
  name                 text not null check (name <> ''),
  display_name         text,                     -- a batch script's --job-name, where it differs from name
  user_name            text not null,
  local_queue          text not null,
  cluster_queue        text not null,            -- as resolved at acceptance
  priority_class       text not null,            -- '' if none
  priority             integer not null,
  pod_sets             json not null,            -- the workload: name, count, requests, constraints of each pod set
  batch                json,                     -- what only a batch script has
  time_limit_s         bigint not null check (time_limit_s >= 0),         -- 0: none
  ttl_after_finished_s bigint not null check (ttl_after_finished_s >= -1), -- -1: kept until deleted
  submit_time          bigint not null,
  accept_seq           bigint not null unique,   -- number of the JobAccepted event, which is this row
  manifest             json not null             -- as submitted, whole
);

-- One row a job. Owner: the engine (Store::Commit), apart from its first values (Store::Accept).
create table job_state (
  job_id             bigint primary key,   -- jobs.id, written in the same statement
  live_name          text,                 -- namespace/kind/name while the object exists: no second of that name
  deleted_at         bigint,               -- when the object was deleted
  state              smallint not null check (state between 1 and 7),  -- JobState
  terminal           boolean not null generated always as (state >= 5) stored,  -- so that indexes leave updates of state HOT
  suspended_by_user  boolean not null default false,
  deletion_requested boolean not null default false,
  reason             text not null default '',
  message            text not null default '',
  cluster            text not null default '',  -- member cluster of the current attempt
  attempt            integer not null default 0 check (attempt >= 0),
  admission          json,                      -- quota held: ClusterQueue, flavors and usage of each pod set
  admit_time         bigint,
  start_time         bigint,
  end_time           bigint,
  exit_code          integer,
  exit_signal        integer not null default 0,
  requeues           integer not null default 0 check (requeues >= 0),
  conditions         json,
  resource_version   bigint not null,           -- number of the event that changed it last
  ready_pods         integer not null default 0,
  succeeded_pods     integer not null default 0,
  failed_pods        integer not null default 0,
  check ((live_name is null) = (deleted_at is not null)),
  check (deleted_at is null or state >= 5),               -- only what has ended is deleted
  check (admission is not null or state not in (3, 4)),   -- admitted and running jobs hold quota
  check (admission is null or state in (3, 4) or state >= 5)
) with (fillfactor = 50);  -- room for each row's next version beside it: admission makes rows grow
create unique index job_state_live_name on job_state (live_name) where live_name is not null;
create index job_state_live on job_state (job_id) where not terminal;
create index job_state_ended on job_state (end_time) where terminal;

-- A client's retry token. Owner: acceptance.
create table idempotency_keys (
  scope       text not null,
  key         text not null,
  fingerprint bigint not null,  -- of the request
  job_id      bigint not null,  -- the job that the first request made
  primary key (scope, key)
);

-- The schedulable form of each job, for people and reports.
create view workloads as
  select j.id as job_id, j.uid, j.namespace, j.name, j.cluster_queue, j.priority, j.pod_sets, s.state, s.reason,
         s.admission, s.attempt, s.cluster
    from jobs j join job_state s on s.job_id = j.id;
create view pod_sets as
  select j.id as job_id, p.ordinal, p.set ->> 'name' as name, (p.set ->> 'count')::integer as count,
         p.set -> 'requests' as requests
    from jobs j cross join lateral json_array_elements(j.pod_sets) with ordinality as p (set, ordinal);
