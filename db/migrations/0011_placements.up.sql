-- Placements: which member clusters the jobs that they select may run on; columns as in 0002.
-- Owner of every column of the two tables: the engine (PlanCommit::objects).

-- Of namespaces.
create table cluster_resource_placements (
  name             text primary key check (name <> ''),
  uid              uuid not null unique,
  generation       bigint not null check (generation >= 1),
  resource_version bigint not null check (resource_version >= 0),
  creation_time    bigint not null,
  manifest         json not null check (json_typeof(manifest) = 'object')
);

-- Of jobs in its own namespace.
create table resource_placements (
  namespace        text not null check (namespace <> ''),
  name             text not null check (name <> ''),
  uid              uuid not null unique,
  generation       bigint not null check (generation >= 1),
  resource_version bigint not null check (resource_version >= 0),
  creation_time    bigint not null,
  manifest         json not null check (json_typeof(manifest) = 'object'),
  primary key (namespace, name)
);

-- What a job says about its own placement: labels, and annotations muster.io/placement, cluster, datasets. Null for the
-- most. Owner: acceptance.
alter table jobs add column placement json;
