-- What each role of the database may do. The owner of the schema migrates it; the daemon's own role may neither change
-- the schema nor the audit trail; readers see the jobs of their namespaces only.

-- The namespaces of each login role that is a member of muster_read. Owner: the database's administrator.
create table read_access (
  role_name name not null,
  namespace text not null,
  primary key (role_name, namespace)
);

-- Rows of the audit trail younger than this stay, whatever muster_forget_audit is asked for; 0: all stay. One row.
-- Owner: the owner of the schema, as whom the daemon sets it to audit-retention when it starts; its own role reads it.
create table audit_policy (
  one        boolean primary key default true check (one),
  min_age_ms bigint  not null default 0 check (min_age_ms >= 0)
);
insert into audit_policy default values;

-- Gives muster_daemon and muster_read, where these roles exist, their rights on every table of this schema, and no
-- others. Idempotent. A migration that makes a table calls it at its end; an administrator who makes the roles later
-- calls it once, as the owner.
create function muster_grant_roles() returns void language plpgsql set search_path = public, pg_temp as $$
declare
  one record;
begin
  if exists (select from pg_roles where rolname = 'muster_daemon') then
    grant usage on schema public to muster_daemon;
    for one in select format('%I', tablename) as name, tablename from pg_tables where schemaname = 'public' loop
      execute 'revoke all on ' || one.name || ' from muster_daemon';
      case
        when one.tablename in ('schema_migrations', 'installation', 'read_access', 'audit_anchor',
                               'audit_policy') then
          execute 'grant select on ' || one.name || ' to muster_daemon';
        when one.tablename = 'audit' then
          execute 'grant select, insert on ' || one.name || ' to muster_daemon';
        else
          execute 'grant select, insert, update, delete on ' || one.name || ' to muster_daemon';
      end case;
    end loop;
    grant usage, select on all sequences in schema public to muster_daemon;
    grant execute on function muster_forget_audit(bigint, bigint) to muster_daemon;
    grant select on workloads, pod_sets to muster_daemon;
    -- Row security is for readers; the daemon decides by itself what it shows to whom.
    for one in select unnest(array['jobs', 'job_state', 'attempts', 'events']) as name loop
      execute format('drop policy if exists daemon on %I', one.name);
      execute format('create policy daemon on %I to muster_daemon using (true) with check (true)', one.name);
    end loop;
  end if;
  if exists (select from pg_roles where rolname = 'muster_read') then
    grant usage on schema public to muster_read;
    grant select on jobs, job_state, attempts, events, workloads, pod_sets to muster_read;
    -- The look-up is by session_user, which neither SET ROLE nor a setting changes.
    grant select on read_access to muster_read;
    drop policy if exists readers on jobs;
    create policy readers on jobs for select to muster_read
      using (namespace in (select a.namespace from read_access a where a.role_name = session_user));
    -- The jobs that a reader can see are those of its namespaces already.
    for one in select unnest(array['job_state', 'attempts', 'events']) as name loop
      execute format('drop policy if exists readers on %I', one.name);
      execute format('create policy readers on %I for select to muster_read using (job_id in (select id from jobs))', one.name);
    end loop;
  end if;
end $$;
revoke execute on function muster_grant_roles() from public;

alter table jobs enable row level security;
alter table job_state enable row level security;
alter table attempts enable row level security;
alter table events enable row level security;
alter table read_access enable row level security;
-- A reader sees its own line of this table only.
create policy own on read_access for select using (role_name = session_user);
-- Otherwise a view reads with its owner's rights, past row security.
alter view workloads set (security_invoker = true);
alter view pod_sets set (security_invoker = true);

select muster_grant_roles();
