drop table audit;
drop table events;
drop table dispatches;
drop table attempts;
drop table quota_usage;
