drop view pod_sets;
create view pod_sets as
  select j.id as job_id, p.ordinal, p.set ->> 'name' as name, (p.set ->> 'count')::integer as count,
         p.set -> 'requests' as requests
    from jobs j cross join lateral json_array_elements(j.pod_sets) with ordinality as p (set, ordinal);
