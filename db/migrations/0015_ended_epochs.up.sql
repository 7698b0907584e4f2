-- How each leadership ended: the number of the last group of writes that was committed under it. Whoever led and lost
-- the answer to a commit learns from it, under another leader too, whether that commit is here.
-- Owner of every column: the trigger below.
create table ended_epochs (
  epoch      bigint primary key,
  last_group bigint not null  -- numbers of groups are drawn anew by each leader: only one leader wrote under this one
);

-- In the transaction that ends the epoch, after every group that was committed under it. A thousand are kept.
create function muster_epoch_ended() returns trigger language plpgsql as $$
begin
  insert into ended_epochs (epoch, last_group) values (old.epoch, old.last_group)
    on conflict (epoch) do update set last_group = excluded.last_group;
  delete from ended_epochs where epoch < old.epoch - 1000;
  return null;
end $$;

create trigger leader_epoch_ended after update of epoch on leader
  for each row when (old.epoch is distinct from new.epoch) execute function muster_epoch_ended();
