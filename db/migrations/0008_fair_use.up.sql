-- What each LocalQueue has used lately, decayed, for admission fair sharing. Owner of every column: the engine.
create table fair_use (
  namespace   text not null check (namespace <> ''),
  local_queue text not null check (local_queue <> ''),
  consumed    json not null check (json_typeof(consumed) = 'object'), -- by resource, thousandths of its base unit
  updated     bigint not null,                                        -- microseconds, as job_state's times
  primary key (namespace, local_queue)
);
