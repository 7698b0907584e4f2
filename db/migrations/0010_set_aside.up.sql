-- Objects on members that carry this installation's labels and are left alone: ahead of this database (then nothing is
-- collected on that member until an administrator releases it), copies, not made by it. Owner of every column: the engine.
create table set_aside_objects (
  cluster     text not null check (cluster <> ''),
  remote_uid  text not null check (remote_uid <> ''),
  api_version text not null,
  object_kind text not null,
  namespace   text not null,
  name        text not null,
  job_uid     uuid not null,     -- as its labels say: there may be no such job
  attempt     integer not null,
  sequence    bigint not null,   -- of the dispatch that made it; 0 if it does not say
  reason      smallint not null check (reason between 1 and 3),  -- SetAsideReason
  released    boolean not null,  -- it may be removed like any orphan
  first_seen  bigint not null,   -- microseconds since 1970
  primary key (cluster, remote_uid)
);
