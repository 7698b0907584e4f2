-- A row for each history of this database that a daemon has led in. A history ends where a standby of the database is
-- promoted, or a backup is recovered to a point in time: both begin a timeline of the write-ahead log. What the server
-- that was lost had committed last may be missing then, so numbers go on above those that it may have given out.
-- Owner of every column: the daemon that takes the lead, in the statement that takes it.
create table histories (
  number    bigint generated always as identity primary key,
  timeline  bigint      not null,                                -- of the write-ahead log
  begun     timestamptz not null default clock_timestamp(),      -- when it was first led in
  last_seq  bigint not null check (last_seq >= 0),               -- the highest event number then
  seq_floor bigint not null check (seq_floor >= last_seq),       -- events go on above it
  job_floor bigint not null check (job_floor >= 0)               -- likewise for the numbers of jobs
);

-- The timeline that the server writes now; null if it does not tell (some managed services have no such functions).
create function muster_timeline() returns bigint language plpgsql as $$
begin
  return ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint;
exception when feature_not_supported or undefined_function or insufficient_privilege then
  return null;
end $$;

-- The highest numbers of jobs and events that this history, or one that was lost, may have given out.
create function muster_last_numbers(out job bigint, out seq bigint) language sql stable as $$
  select greatest(coalesce((select max(id) from jobs), 0), coalesce((select max(job_floor) from restores), 0),
                  coalesce((select max(job_floor) from histories), 0)),
         greatest(coalesce((select max(seq) from events), 0), coalesce((select max(accept_seq) from jobs), 0),
                  coalesce((select max(seq_floor) from restores), 0), coalesce((select max(seq_floor) from histories), 0))
$$;
select muster_grant_roles();
