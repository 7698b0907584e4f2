-- This installation and its leader.

-- Written once, by this migration. The instance is stamped on every object that a member cluster holds.
create table installation (
  singleton boolean primary key default true check (singleton),  -- one row
  instance  uuid not null default gen_random_uuid(),
  created   timestamptz not null default now()
);
insert into installation default values;

-- Owner: the leading daemon's writer session (schedd/store/pg/write_session).
create table leader (
  singleton  boolean primary key default true check (singleton),  -- one row
  epoch      bigint not null default 0 check (epoch >= 0),        -- leadership generation; grows with each take-over
  holder     text not null default '',                            -- who leads, for people
  last_group bigint not null default 0                            -- number of the last committed group of writes
) with (fillfactor = 10);
insert into leader default values;

-- The fence of every write: fails unless `wanted` is the leader's epoch, and records the group's number in the
-- same transaction, so that a lost answer to COMMIT can be asked for afterwards.
create function muster_fence(wanted bigint, group_number bigint) returns void language plpgsql as $$
begin
  update leader set last_group = group_number where epoch = wanted;
  if not found then
    raise exception 'epoch % does not lead', wanted using errcode = 'MU001';
  end if;
end $$;

-- Fails unless a statement touched as many rows as it was given.
create function muster_expect(wanted bigint, got bigint, what text) returns void language plpgsql as $$
begin
  if wanted <> got then
    raise exception '%', what using errcode = 'MU002';
  end if;
end $$;
