-- The audit trail as a chain: every row carries the hash of the row before it, and no row is changed or deleted
-- (rule U31). Owner of every column: the writer session, which numbers the rows and computes the hashes
-- (schedd/model/audit_chain). Rows from before this migration keep an empty hash and stand before the chain.
alter table audit alter column id drop identity;
alter table audit
  add column request_id   text   not null default '',
  add column user_groups  json   not null default '[]',  -- an array of texts
  add column impersonator text   not null default '',
  add column source       text   not null default '',
  add column result       text   not null default 'allowed' check (result in ('allowed', 'refused', 'failed')),
  add column code         text   not null default 'OK',
  add column old_version  bigint not null default 0,
  add column new_version  bigint not null default 0,
  add column count        bigint not null default 1 check (count > 0),
  add column prev         bytea  not null default '',
  add column hash         bytea  not null default '';
-- Every later row has a hash; the rows that are here keep the empty one.
alter table audit add constraint audit_chained
  check (octet_length(prev) = 32 and octet_length(hash) = 32) not valid;
-- Readers ask for times. Rows come in order of time, so the bounds of each range of pages suffice, and a row that is
-- added costs no entry.
create index audit_time on audit using brin (time) with (autosummarize = on);

-- The last row that is not there any more, and its hash, from which the rows after it go on. The first one stands
-- before the first chained row; every removal adds one. Owner: this migration and muster_forget_audit.
create table audit_anchor (
  number  bigint generated always as identity primary key,
  last_id bigint not null,
  hash    bytea  not null,
  time    timestamptz not null default now(),
  xact    xid8   not null default pg_current_xact_id()  -- of the removal
);
-- A row is looked for among the anchors by its number, and removals add anchors for ever.
create index audit_anchor_row on audit_anchor (last_id, number);
insert into audit_anchor (last_id, hash) select coalesce(max(id), 0), decode(repeat('00', 32), 'hex') from audit;

-- Rows go on where the chain ends: one check a statement, also for whoever may write to the table by other means.
-- The path ends in pg_temp, which would otherwise be searched first: nobody's temporary table passes for one of these.
create function muster_audit_follows() returns trigger language plpgsql
set search_path = pg_catalog, public, pg_temp as $$
declare
  astray bigint;
begin
  -- One query, because it runs with every group of submissions. The first row follows a stored one that has a hash, or
  -- an anchor.
  select r.id into astray
    from (select a.id, a.prev, lag(a.id) over w as before_id, lag(a.hash) over w as before_hash
          from added a window w as (order by a.id)) r
    where (r.before_id is null or r.before_id = r.id - 1 and r.before_hash = r.prev) is not true
       or (r.before_id is null and r.prev is distinct from coalesce(
             (select h.hash from audit h where h.id = r.id - 1 and octet_length(h.hash) > 0),
             (select h.hash from audit_anchor h where h.last_id = r.id - 1 order by h.number desc limit 1)))
    limit 1;
  if found then
    raise exception 'row % does not continue the audit trail', astray using errcode = 'MU003';
  end if;
  return null;
end $$;
create trigger audit_follows after insert on audit referencing new table as added
  for each statement execute function muster_audit_follows();

create function muster_audit_stays() returns trigger language plpgsql
set search_path = pg_catalog, public, pg_temp as $$
begin
  raise exception 'rows of the audit trail are never changed or deleted' using errcode = '42501';
end $$;
create trigger audit_no_update before update or truncate on audit
  for each statement execute function muster_audit_stays();
create trigger audit_anchor_no_update before update or delete or truncate on audit_anchor
  for each statement execute function muster_audit_stays();

-- A row may go only in the transaction of a removal that has left an anchor at it or after it.
create function muster_audit_goes() returns trigger language plpgsql
set search_path = pg_catalog, public, pg_temp as $$
begin
  if exists (select from audit_anchor a where a.xact = pg_current_xact_id() and a.last_id >= old.id) then
    return old;
  end if;
  raise exception 'rows of the audit trail are never changed or deleted' using errcode = '42501';
end $$;
create trigger audit_no_delete before delete on audit for each row execute function muster_audit_goes();

-- An anchor says the truth about a row that is at least a day old.
create function muster_audit_anchors() returns trigger language plpgsql
set search_path = pg_catalog, public, pg_temp as $$
begin
  if not exists (select from audit a where a.id = new.last_id
                   and (a.hash = new.hash or octet_length(a.hash) = 0)
                   and a.time < (extract(epoch from clock_timestamp()) * 1000000)::bigint - 86400000000) then
    raise exception 'row % of the audit trail may not be removed yet', new.last_id using errcode = '42501';
  end if;
  new.xact := pg_current_xact_id();
  return new;
end $$;
create trigger audit_anchor_true before insert on audit_anchor
  for each row execute function muster_audit_anchors();

-- Retention, the one way by which rows go: removes the oldest rows, at most `most` of them, whose day (UTC) ended
-- before `before` (microseconds), at least a day ago and as long ago as audit_policy (0019) says, and leaves an
-- anchor. Returns how many rows went. It runs with the rights of its owner, so that the daemon's role needs no DELETE.
create function muster_forget_audit(before bigint, most bigint) returns bigint
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  day constant bigint := 86400000000;
  kept_ms bigint := (select p.min_age_ms from audit_policy p);
  until_ms bigint;
  until_time bigint;
  upto bigint;
  removed bigint;
begin
  until_ms := (extract(epoch from clock_timestamp()) * 1000)::bigint - greatest(kept_ms, day / 1000);
  -- Without retention every row stays; so it does with one that is longer than time itself.
  if coalesce(kept_ms, 0) <= 0 or until_ms <= 0 then return 0; end if;
  until_time := least(before, until_ms * 1000);
  until_time := until_time - until_time % day;
  -- The row before the first one that has to stay.
  select coalesce(min(w.id) filter (where w.time >= until_time) - 1, max(w.id)) into upto
    from (select a.id, a.time from audit a order by a.id limit most) w;
  if upto is null or not exists (select from audit a where a.id = upto) then return 0; end if;
  insert into audit_anchor (last_id, hash)
    select a.id, case when octet_length(a.hash) > 0 then a.hash
                      else (select g.hash from audit_anchor g order by g.number limit 1) end
      from audit a where a.id = upto;
  delete from audit a where a.id <= upto;
  get diagnostics removed = row_count;
  return removed;
end $$;
-- By name, so that no caller gets it by default.
revoke all on function muster_forget_audit(bigint, bigint) from public;
