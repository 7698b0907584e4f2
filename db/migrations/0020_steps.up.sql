-- Steps of batch scripts (srun), and what was measured of the processes of attempts and steps.

-- What an attempt used, as JSON (user and system CPU, peak memory, bytes read and written). Null: not measured.
-- Owner: the engine.
alter table attempts add column use json;

-- One row a step. Owner: the engine. A row whose end_time is set is closed and never changes.
create table steps (
  job_id      bigint not null references jobs (id),
  attempt     integer not null check (attempt >= 1),
  step        integer not null check (step >= 0),
  name        text not null,
  nodes       text not null,
  node_count  integer not null,
  tasks       integer not null,
  cpus        integer not null,
  state       smallint not null check (state between 1 and 6),  -- StepState
  start_time  bigint,
  end_time    bigint,
  exit_code   integer not null,
  exit_signal integer not null,
  use         json,  -- as in attempts
  primary key (job_id, attempt, step)
) with (fillfactor = 70);

alter table steps enable row level security;

-- That of 0019 with the table of steps: readers see the steps of the jobs that they see.
create or replace function muster_grant_roles() returns void language plpgsql set search_path = public, pg_temp as $$
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
    for one in select unnest(array['jobs', 'job_state', 'attempts', 'events', 'steps']) as name loop
      execute format('drop policy if exists daemon on %I', one.name);
      execute format('create policy daemon on %I to muster_daemon using (true) with check (true)', one.name);
    end loop;
  end if;
  if exists (select from pg_roles where rolname = 'muster_read') then
    grant usage on schema public to muster_read;
    grant select on jobs, job_state, attempts, events, steps, workloads, pod_sets to muster_read;
    -- The look-up is by session_user, which neither SET ROLE nor a setting changes.
    grant select on read_access to muster_read;
    drop policy if exists readers on jobs;
    create policy readers on jobs for select to muster_read
      using (namespace in (select a.namespace from read_access a where a.role_name = session_user));
    -- The jobs that a reader can see are those of its namespaces already.
    for one in select unnest(array['job_state', 'attempts', 'events', 'steps']) as name loop
      execute format('drop policy if exists readers on %I', one.name);
      execute format('create policy readers on %I for select to muster_read using (job_id in (select id from jobs))', one.name);
    end loop;
  end if;
end $$;

select muster_grant_roles();
