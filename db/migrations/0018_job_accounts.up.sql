-- The local account (uid) of a job's submitter, as the kernel, munge or a token told it; local members run the job as it
-- (rule U60). Null: the submitter has none, or the job was accepted before accounts were kept. Owner: acceptance.
alter table jobs add column account_uid bigint check (account_uid between 0 and 4294967294);
