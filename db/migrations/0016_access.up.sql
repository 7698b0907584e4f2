-- Who may do what: roles, bindings and access tokens; columns as in 0002.
-- Owner of every column: the engine (PlanCommit::objects).

create table roles (
  namespace        text not null check (namespace <> ''),
  name             text not null check (name <> ''),
  uid              uuid not null unique,
  generation       bigint not null check (generation >= 1),
  resource_version bigint not null check (resource_version >= 0),
  creation_time    bigint not null,
  manifest         json not null check (json_typeof(manifest) = 'object'),
  primary key (namespace, name)
);

create table cluster_roles (
  name             text primary key check (name <> ''),
  uid              uuid not null unique,
  generation       bigint not null check (generation >= 1),
  resource_version bigint not null check (resource_version >= 0),
  creation_time    bigint not null,
  manifest         json not null check (json_typeof(manifest) = 'object')
);

create table role_bindings (
  namespace        text not null check (namespace <> ''),
  name             text not null check (name <> ''),
  uid              uuid not null unique,
  generation       bigint not null check (generation >= 1),
  resource_version bigint not null check (resource_version >= 0),
  creation_time    bigint not null,
  manifest         json not null check (json_typeof(manifest) = 'object'),
  primary key (namespace, name)
);

create table cluster_role_bindings (
  name             text primary key check (name <> ''),
  uid              uuid not null unique,
  generation       bigint not null check (generation >= 1),
  resource_version bigint not null check (resource_version >= 0),
  creation_time    bigint not null,
  manifest         json not null check (json_typeof(manifest) = 'object')
);

-- The manifest has the hash of the token, never the token.
create table access_tokens (
  name             text primary key check (name <> ''),
  uid              uuid not null unique,
  generation       bigint not null check (generation >= 1),
  resource_version bigint not null check (resource_version >= 0),
  creation_time    bigint not null,
  manifest         json not null check (json_typeof(manifest) = 'object')
);
