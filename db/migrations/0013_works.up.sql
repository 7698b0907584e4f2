-- Configuration objects on members: what one placement has on one member, and what it selected at one moment.
-- Owner of every column: schedd/propagation, through the engine (PlanCommit::works, ::snapshots). A row is durable before
-- anything that it tells of is written on a member.
create table works (
  namespace      text not null,      -- of the placement; '': a ClusterResourcePlacement
  placement      text not null check (placement <> ''),
  cluster        text not null check (cluster <> ''),
  state          smallint not null check (state between 1 and 3),  -- WorkState
  revision       integer not null,   -- of the snapshot that the member is to have; -1: none yet
  policy         text not null,      -- hash of the policy that picked the member
  rendered       text not null,
  override_error text not null,
  affinity_score integer not null,
  spread_score   integer not null,
  abandon        boolean not null,
  waits          text not null,
  overrides      json not null,      -- names
  manifests      json not null,      -- all that may be on the member because of it
  scheduled_at   bigint,             -- microseconds since 1970, as below
  bound_at       bigint,
  synced_at      bigint,
  primary key (namespace, placement, cluster)
);

-- Rows are written once, and go.
create table resource_snapshots (
  namespace  text not null,
  placement  text not null check (placement <> ''),
  revision   integer not null check (revision >= 0),
  hash       text not null,
  created_at bigint,
  resources  json not null,
  primary key (namespace, placement, revision)
);
