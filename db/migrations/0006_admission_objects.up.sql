-- Configuration objects that admission looks at; columns as in 0002. Owner of every column: the engine (PlanCommit::objects).

-- Levels of node labels, for topology aware scheduling.
create table topologies (
  name             text primary key check (name <> ''),
  uid              uuid not null unique,
  generation       bigint not null check (generation >= 1),
  resource_version bigint not null check (resource_version >= 0),
  creation_time    bigint not null,
  manifest         json not null check (json_typeof(manifest) = 'object')
);

-- What must agree before a workload with a reservation starts.
create table admission_checks (
  name             text primary key check (name <> ''),
  uid              uuid not null unique,
  generation       bigint not null check (generation >= 1),
  resource_version bigint not null check (resource_version >= 0),
  creation_time    bigint not null,
  manifest         json not null check (json_typeof(manifest) = 'object')
);

-- Bounds and defaults of what a namespace's pods may ask for.
create table limit_ranges (
  namespace        text not null check (namespace <> ''),
  name             text not null check (name <> ''),
  uid              uuid not null unique,
  generation       bigint not null check (generation >= 1),
  resource_version bigint not null check (resource_version >= 0),
  creation_time    bigint not null,
  manifest         json not null check (json_typeof(manifest) = 'object'),
  primary key (namespace, name)
);

-- Overhead of pods by runtime.
create table runtime_classes (
  name             text primary key check (name <> ''),
  uid              uuid not null unique,
  generation       bigint not null check (generation >= 1),
  resource_version bigint not null check (resource_version >= 0),
  creation_time    bigint not null,
  manifest         json not null check (json_typeof(manifest) = 'object')
);
