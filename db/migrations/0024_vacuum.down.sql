alter table dispatches reset (autovacuum_vacuum_scale_factor);
alter table job_state reset (autovacuum_vacuum_scale_factor);
