drop view pod_sets;
drop view workloads;
drop table idempotency_keys;
drop table job_state;
drop table jobs;
