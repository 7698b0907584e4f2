-- Leadership is a lease: the leader's row says until when it leads by this database's clock. Every group of writes
-- renews it (muster_fence), and so does a heartbeat. Owner of all columns: the leading daemon's writer session.
alter table leader
  add column holder_id     text        not null default '',      -- of the leader's data directory
  add column address       text        not null default '',      -- of the leader's REST API, for those who ask another daemon
  add column since         timestamptz not null default clock_timestamp(),  -- when this epoch was taken
  add column expires       timestamptz not null default 'epoch', -- from then on another daemon may take the lead
  add column ttl_ms        bigint      not null default 5000 check (ttl_ms between 1 and 86400000),  -- what a renewal adds
  add column released      boolean     not null default false,   -- the leader has given the lead up in good order
  add column session_pid   integer     not null default 0,       -- the leader's session: the one that a successor ends
  add column session_start timestamptz not null default 'epoch';

-- A daemon that leads during this migration is of an earlier version; its writes renew from now on.
update leader set expires = clock_timestamp() + ttl_ms * interval '1 ms' where epoch > 0;

-- As before; now it renews the lease as well, by the clock at the time of the statement.
create or replace function muster_fence(wanted bigint, group_number bigint) returns void language plpgsql as $$
begin
  update leader set last_group = group_number, expires = clock_timestamp() + ttl_ms * interval '1 ms'
    where epoch = wanted;
  if not found then
    raise exception 'epoch % does not lead', wanted using errcode = 'MU001';
  end if;
end $$;
