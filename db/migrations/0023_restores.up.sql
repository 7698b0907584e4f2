-- A mark for each time that this database was made from a backup (muster restore). What members did after the backup
-- is not here, so a daemon holds what waited then and asks before it runs anything again (rule D25).
-- Owner of every column: muster restore, in the transaction that restores.
create table restores (
  number    bigint generated always as identity primary key,
  lineage   uuid   not null default gen_random_uuid(),           -- of the history that begins here
  backup    bigint not null,                                     -- when the backup was taken, microseconds since 1970
  restored  bigint not null,                                     -- when it was restored, likewise
  last_seq  bigint not null check (last_seq >= 0),               -- the highest event number of the backup
  seq_floor bigint not null check (seq_floor >= last_seq),       -- events go on above it: the history that is lost may have used those below
  job_floor bigint not null check (job_floor >= 0)               -- likewise for the numbers of jobs
);
select muster_grant_roles();
