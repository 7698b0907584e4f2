create or replace function muster_fence(wanted bigint, group_number bigint) returns void language plpgsql as $$
begin
  update leader set last_group = group_number where epoch = wanted;
  if not found then
    raise exception 'epoch % does not lead', wanted using errcode = 'MU001';
  end if;
end $$;

alter table leader
  drop column holder_id, drop column address, drop column since, drop column expires, drop column ttl_ms,
  drop column released, drop column session_pid, drop column session_start;
