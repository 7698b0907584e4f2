-- Each task gets a copy of its array's manifest.
alter table jobs drop constraint jobs_manifest;
update jobs set manifest = (select a.manifest from jobs a where a.id = jobs.array_job_id) where manifest is null;
drop index jobs_array;
alter table jobs drop column array_job_id, drop column array_task_id;
alter table jobs alter column manifest set not null;
