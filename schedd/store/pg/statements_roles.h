// The script that makes the roles and the database of a private PostgreSQL. psql runs it at each
// start as the server's own account, the only one that may be the superuser; db/migrations then
// gives the roles their rights (muster_grant_roles).
#pragma once

namespace muster::pg::sql {

/// Idempotent. An installation of an earlier version, whose tables the superuser owns, is given to
/// muster_owner.
inline constexpr const char* kProvision = R"SQL(\set ON_ERROR_STOP on
set client_min_messages = warning;
do $$ begin
  if not exists (select from pg_roles where rolname = 'muster_owner') then
    create role muster_owner login;
  end if;
  if not exists (select from pg_roles where rolname = 'muster_daemon') then
    create role muster_daemon login;
  end if;
  if not exists (select from pg_roles where rolname = 'muster_read') then
    create role muster_read;
  end if;
end $$;
select 'create database muster owner muster_owner'
  where not exists (select from pg_database where datname = 'muster') \gexec
select 'alter database muster owner to muster_owner'
  where exists (select from pg_database where datname = 'muster'
                and datdba <> 'muster_owner'::regrole) \gexec
revoke connect, temporary on database muster from public;
grant connect on database muster to muster_daemon, muster_read;
\connect muster
set client_min_messages = warning;
select format('alter table %s owner to muster_owner', oid::regclass) from pg_class
  where relnamespace = 'public'::regnamespace and relkind in ('r', 'v')
    and relowner <> 'muster_owner'::regrole \gexec
select format('alter function %s owner to muster_owner', oid::regprocedure) from pg_proc
  where pronamespace = 'public'::regnamespace and proowner <> 'muster_owner'::regrole \gexec
)SQL";

}  // namespace muster::pg::sql
