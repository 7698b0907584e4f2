-- Pod sets as they are now: an elastic job's one pod set has the pods of its size, not of its submission (KEP-77).
create or replace view pod_sets as
  select j.id as job_id, p.ordinal, p.set ->> 'name' as name,
         coalesce(least((s.admission_state #>> '{state,scale,parallelism}')::integer,
                        (s.admission_state #>> '{state,scale,completions}')::integer),
                  (p.set ->> 'count')::integer) as count,
         p.set -> 'requests' as requests
    from jobs j join job_state s on s.job_id = j.id
         cross join lateral json_array_elements(j.pod_sets) with ordinality as p (set, ordinal);
