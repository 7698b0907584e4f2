drop function muster_forget_audit(bigint, bigint);
drop table audit_anchor;
drop function muster_audit_anchors();
drop trigger audit_no_delete on audit;
drop function muster_audit_goes();
drop trigger audit_no_update on audit;
drop function muster_audit_stays();
drop trigger audit_follows on audit;
drop function muster_audit_follows();
drop index audit_time;
alter table audit
  drop constraint audit_chained,
  drop column request_id, drop column user_groups, drop column impersonator, drop column source, drop column result,
  drop column code, drop column old_version, drop column new_version, drop column count, drop column prev,
  drop column hash;
alter table audit alter column id add generated always as identity;
select setval(pg_get_serial_sequence('audit', 'id'), coalesce((select max(id) from audit), 0) + 1, false);
