drop trigger leader_epoch_ended on leader;
drop function muster_epoch_ended();
drop table ended_epochs;
