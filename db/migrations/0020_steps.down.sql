drop table steps;
alter table attempts drop column use;

-- That of 0019.
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

select muster_grant_roles();
