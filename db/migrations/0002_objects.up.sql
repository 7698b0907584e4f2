-- Configuration objects: Kubernetes-shaped, one table a kind. Owner of every column: the engine (PlanCommit::objects).
--   uid               identity; a deleted and re-created object gets another
--   generation        grows when the spec changes
--   resource_version  number of the event that changed it last
--   creation_time     microseconds since 1970
--   manifest          the object as applied and normalised, whole

-- Namespaces of jobs and local queues.
create table namespaces (
  name             text primary key check (name <> ''),
  uid              uuid not null unique,
  generation       bigint not null check (generation >= 1),
  resource_version bigint not null check (resource_version >= 0),
  creation_time    bigint not null,
  manifest         json not null check (json_typeof(manifest) = 'object')
);

-- Kinds of capacity.
create table resource_flavors (
  name             text primary key check (name <> ''),
  uid              uuid not null unique,
  generation       bigint not null check (generation >= 1),
  resource_version bigint not null check (resource_version >= 0),
  creation_time    bigint not null,
  manifest         json not null check (json_typeof(manifest) = 'object')
);

-- Queues that hold quota.
create table cluster_queues (
  name             text primary key check (name <> ''),
  uid              uuid not null unique,
  generation       bigint not null check (generation >= 1),
  resource_version bigint not null check (resource_version >= 0),
  creation_time    bigint not null,
  manifest         json not null check (json_typeof(manifest) = 'object')
);

-- Nodes of the tree along which quota is shared.
create table cohorts (
  name             text primary key check (name <> ''),
  uid              uuid not null unique,
  generation       bigint not null check (generation >= 1),
  resource_version bigint not null check (resource_version >= 0),
  creation_time    bigint not null,
  manifest         json not null check (json_typeof(manifest) = 'object')
);

-- Workload priority classes.
create table priority_classes (
  name             text primary key check (name <> ''),
  uid              uuid not null unique,
  generation       bigint not null check (generation >= 1),
  resource_version bigint not null check (resource_version >= 0),
  creation_time    bigint not null,
  manifest         json not null check (json_typeof(manifest) = 'object')
);

-- Clusters that run jobs, and their declared facts.
create table member_clusters (
  name             text primary key check (name <> ''),
  uid              uuid not null unique,
  generation       bigint not null check (generation >= 1),
  resource_version bigint not null check (resource_version >= 0),
  creation_time    bigint not null,
  manifest         json not null check (json_typeof(manifest) = 'object')
);

-- Tenants' entrances.
create table local_queues (
  namespace        text not null check (namespace <> ''),
  name             text not null check (name <> ''),
  uid              uuid not null unique,
  generation       bigint not null check (generation >= 1),
  resource_version bigint not null check (resource_version >= 0),
  creation_time    bigint not null,
  manifest         json not null check (json_typeof(manifest) = 'object'),
  primary key (namespace, name)
);

-- Configuration that jobs mount.
create table config_maps (
  namespace        text not null check (namespace <> ''),
  name             text not null check (name <> ''),
  uid              uuid not null unique,
  generation       bigint not null check (generation >= 1),
  resource_version bigint not null check (resource_version >= 0),
  creation_time    bigint not null,
  manifest         json not null check (json_typeof(manifest) = 'object'),
  primary key (namespace, name)
);

-- Secrets that jobs mount; values are in clear, as in etcd by default: guard the data directory and its backups.
create table secrets (
  namespace        text not null check (namespace <> ''),
  name             text not null check (name <> ''),
  uid              uuid not null unique,
  generation       bigint not null check (generation >= 1),
  resource_version bigint not null check (resource_version >= 0),
  creation_time    bigint not null,
  manifest         json not null check (json_typeof(manifest) = 'object'),
  primary key (namespace, name)
);
