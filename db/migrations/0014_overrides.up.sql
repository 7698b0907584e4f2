-- Configuration objects on members: overrides and envelopes; columns as in 0002.
-- Owner of every column: the engine (PlanCommit::objects).

create table cluster_resource_overrides (
  name             text primary key check (name <> ''),
  uid              uuid not null unique,
  generation       bigint not null check (generation >= 1),
  resource_version bigint not null check (resource_version >= 0),
  creation_time    bigint not null,
  manifest         json not null check (json_typeof(manifest) = 'object')
);

create table resource_overrides (
  namespace        text not null check (namespace <> ''),
  name             text not null check (name <> ''),
  uid              uuid not null unique,
  generation       bigint not null check (generation >= 1),
  resource_version bigint not null check (resource_version >= 0),
  creation_time    bigint not null,
  manifest         json not null check (json_typeof(manifest) = 'object'),
  primary key (namespace, name)
);

create table cluster_resource_envelopes (
  name             text primary key check (name <> ''),
  uid              uuid not null unique,
  generation       bigint not null check (generation >= 1),
  resource_version bigint not null check (resource_version >= 0),
  creation_time    bigint not null,
  manifest         json not null check (json_typeof(manifest) = 'object')
);

create table resource_envelopes (
  namespace        text not null check (namespace <> ''),
  name             text not null check (name <> ''),
  uid              uuid not null unique,
  generation       bigint not null check (generation >= 1),
  resource_version bigint not null check (resource_version >= 0),
  creation_time    bigint not null,
  manifest         json not null check (json_typeof(manifest) = 'object'),
  primary key (namespace, name)
);
