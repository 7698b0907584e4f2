-- The rows that change with every step of a job are cleaned up when a twentieth of them is dead, not a fifth, which is
-- PostgreSQL's default: on its way to the next cleaning, a table of a million jobs had more dead rows than a fifth.
alter table job_state set (autovacuum_vacuum_scale_factor = 0.05);
alter table dispatches set (autovacuum_vacuum_scale_factor = 0.05);
