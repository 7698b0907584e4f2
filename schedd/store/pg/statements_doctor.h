// The questions of `muster doctor` that the database can answer alone (schedd/doctor/checks.cc).
// Each gives one text for each thing that is off, and no row if nothing is. They run in one
// read-only snapshot, so a daemon may work meanwhile.
#pragma once

namespace muster::pg::sql {

/// Everything below is read from one state of the database.
inline constexpr const char* kDoctorSnapshot =
    "set transaction isolation level repeatable read, read only";

/// Settings under which an acknowledged write may be lost.
inline constexpr const char* kDoctorSettings =
    "select name || ' is ' || setting from pg_settings where (name in ('fsync', "
    "'full_page_writes') and setting <> 'on') or (name = 'synchronous_commit' and setting in "
    "('off', 'local')) order by 1";
inline constexpr const char* kDoctorStandby =
    "select 'no synchronous standby is named: what was acknowledged is on this server''s disk "
    "alone' from pg_settings where name = 'synchronous_standby_names' and setting = '' union all "
    "select 'synchronous standbys are named (' || setting || '), and none is connected' from "
    "pg_settings where name = 'synchronous_standby_names' and setting <> '' and not exists (select "
    "from pg_stat_replication where sync_state in ('sync', 'quorum'))";

/// An index that a broken build or a restore without its last section has left out would let two
/// runs of one job through.
inline constexpr const char* kDoctorIndexes =
    "select 'index ' || w.name || ' of table ' || w.tab || ' is missing or not valid' from (values "
    "('dispatches', 'dispatches_one_live'), ('dispatches', 'dispatches_name'), ('job_state', "
    "'job_state_live_name'), ('jobs', 'jobs_pkey'), ('jobs', 'jobs_uid_key'), ('jobs', "
    "'jobs_accept_seq_key'), ('idempotency_keys', 'idempotency_keys_pkey'), ('attempts', "
    "'attempts_pkey'), ('events', 'events_pkey'), ('quota_usage', 'quota_usage_pkey')) w (tab, "
    "name) where not exists (select from pg_index i join pg_class c on c.oid = i.indexrelid where "
    "c.relname = w.name and i.indrelid = to_regclass(w.tab) and i.indisvalid and i.indisunique) "
    "union all select 'trigger ' || w.name || ' of table ' || w.tab || ' is missing or disabled' "
    "from (values ('audit', 'audit_follows'), ('audit', 'audit_no_update'), ('audit', "
    "'audit_no_delete'), ('leader', 'leader_epoch_ended')) w (tab, name) where not exists (select "
    "from pg_trigger t where t.tgrelid = to_regclass(w.tab) and t.tgname = w.name and t.tgenabled "
    "<> 'D')";

/// The lease of a daemon that neither renews it nor gave it up.
inline constexpr const char* kDoctorLease =
    "select 'no daemon leads: the lease of ' || holder || ' at ' || address || ' (epoch ' || epoch "
    "|| ') ended at ' || to_char(expires at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') "
    "from leader where epoch > 0 and not released and expires <= clock_timestamp() union all "
    "select 'table leader has ' || count(*) || ' rows instead of one' from leader having count(*) "
    "<> 1";
/// An epoch that has ended and is not older than the present one: a write of it could pass the
/// fence.
inline constexpr const char* kDoctorEpochs =
    "select 'epoch ' || e.epoch || ' has ended, and the leader''s epoch is ' || l.epoch from "
    "ended_epochs e, leader l where e.epoch >= l.epoch order by e.epoch";

/// Jobs that are there in part, and keys without their job.
inline constexpr const char* kDoctorAccepted =
    "select 'job ' || j.id || ' was accepted and has no state' from jobs j where not exists "
    "(select from job_state s where s.job_id = j.id) union all select 'the state of job ' || "
    "s.job_id || ' is there, and the job is not' from job_state s where not exists (select from "
    "jobs j where j.id = s.job_id) union all select 'an idempotency key of ' || k.scope || ' names "
    "job ' || k.job_id || ', which is not there' from idempotency_keys k where not exists (select "
    "from jobs j where j.id = k.job_id) union all select count(*) || ' jobs have the uid ' || uid "
    "from jobs group by uid having count(*) > 1 union all select 'idempotency key ' || key || ' of "
    "' || scope || ' made ' || count(*) || ' jobs' from idempotency_keys group by scope, key "
    "having count(*) > 1 union all select count(*) || ' jobs are named ' || live_name from "
    "job_state where live_name is not null group by live_name having count(*) > 1";

inline constexpr const char* kDoctorLiveAttempts =
    "select 'job ' || job_id || ' has ' || count(*) || ' live attempts: ' || string_agg(attempt || "
    "' on ' || cluster, ', ' order by attempt) from dispatches where live group by job_uid, job_id "
    "having count(*) > 1";
/// Rows of attempts and states of jobs say the same of who runs where.
inline constexpr const char* kDoctorAttemptRows =
    "select 'job ' || s.job_id || ' has attempt ' || s.attempt || ' on member ' || s.cluster || "
    "', and no live dispatch of it' from job_state s join jobs j on j.id = s.job_id where s.state "
    "in (3, 4) and not exists (select from dispatches d where d.job_uid = j.uid and d.attempt = "
    "s.attempt and d.cluster = s.cluster and d.live) union all select 'attempt ' || d.attempt || ' "
    "of job ' || d.job_id || ' is live on member ' || d.cluster || ', and the job is not there' "
    "from dispatches d join job_state s on s.job_id = d.job_id where d.live and (s.state not in "
    "(3, 4) or s.attempt <> d.attempt or s.cluster <> d.cluster)";
/// An object that runs without its uid on record could not be told from a copy.
inline constexpr const char* kDoctorUids =
    "select 'attempt ' || attempt || ' of job ' || job_id || ' on member ' || cluster || ' was "
    "released, and its object has no uid on record' from dispatches where state in (2, 3, 4, 5, "
    "10) and remote_uid = '' order by job_id, attempt";
inline constexpr const char* kDoctorStuck =
    "select 'attempt ' || attempt || ' of job ' || job_id || ' on member ' || cluster || case "
    "state when 11 then ': a foreign object has its name' else ': it is quarantined' end || case "
    "when detail = '' then '' else ' (' || detail || ')' end from dispatches where state in (11, "
    "13) order by job_id, attempt";
inline constexpr const char* kDoctorAway =
    "select 'member ' || cluster || ' has not answered since ' || min(detail) || '; ' || count(*) "
    "|| ' attempts there are unknown' from dispatches where state = 10 group by cluster order by "
    "cluster";

/// An end absorbs: the last event that moves a job's state is the one that its row shows.
inline constexpr const char* kDoctorEvents =
    "with last as (select distinct on (job_id) job_id, type, seq from events where type in "
    "('JobReserved', 'JobAdmitted', 'JobStarted', 'JobRequeued', 'JobSucceeded', 'JobFailed', "
    "'JobCancelled') order by job_id, seq desc) select 'the last event of job ' || s.job_id || ' "
    "is ' || coalesce(l.type, 'its acceptance') || ', and its state is ' || (array['Held', "
    "'Pending', 'Admitted', 'Running', 'Succeeded', 'Failed', 'Cancelled', 'Reserved'])[s.state] "
    "from job_state s left join last l on l.job_id = s.job_id where s.state <> all (case "
    "coalesce(l.type, '') when 'JobReserved' then array[8, 3] when 'JobAdmitted' then array[3] "
    "when 'JobStarted' then array[4] when 'JobSucceeded' then array[5] when 'JobFailed' then "
    "array[6] when 'JobCancelled' then array[7] else array[1, 2] end) and not exists (select from "
    "events e where e.job_id = s.job_id and e.type = 'JobSliceReplaced') order by s.job_id";
/// A row that changed without an event, and numbers that two things have.
inline constexpr const char* kDoctorVersions =
    "select 'job ' || s.job_id || ' was changed by event ' || s.resource_version || ', which is "
    "not there' from job_state s join jobs j on j.id = s.job_id where s.resource_version <> "
    "j.accept_seq and not exists (select from events e where e.seq = s.resource_version) union all "
    "select 'number ' || e.seq || ' is an event and the acceptance of job ' || j.id from events e "
    "join jobs j on j.accept_seq = e.seq";
inline constexpr const char* kDoctorAttempts =
    "select 'attempt ' || a.attempt || ' of job ' || a.job_id || ' is over, and its record is "
    "open' from attempts a join job_state s on s.job_id = a.job_id where a.end_time is null and "
    "not (s.state in (3, 4) and s.attempt = a.attempt) union all select 'attempt ' || a.attempt || "
    "' of job ' || a.job_id || ' ended before it began' from attempts a where a.end_time < "
    "greatest(a.admit_time, a.start_time) union all select 'job ' || s.job_id || ' has had ' || "
    "s.attempt || ' attempts, and ' || count(a.attempt) || ' closed records of those that ended' "
    "from job_state s left join attempts a on a.job_id = s.job_id and a.end_time is not null where "
    "s.attempt > 0 group by s.job_id, s.attempt, s.state having count(a.attempt) <> s.attempt - "
    "(case when s.state in (3, 4) then 1 else 0 end)";
inline constexpr const char* kDoctorEnds =
    "select 'job ' || job_id || ' has ended at no time' from job_state where terminal and end_time "
    "is null";
inline constexpr const char* kDoctorReasons =
    "select 'job ' || job_id || ' waits without a reason' from job_state where state in (1, 2, 8) "
    "and reason = '' and message = '' order by job_id";

/// Objects on members that this database never gave out.
inline constexpr const char* kDoctorAhead =
    "select 'member ' || o.cluster || ' has ' || o.object_kind || ' ' || o.namespace || '/' || "
    "o.name || ' (uid ' || o.remote_uid || '), attempt ' || o.attempt || ' of job ' || j.id || "
    "', which this database never gave out; nothing is collected on that member' from "
    "set_aside_objects o join jobs j on j.uid = o.job_uid where o.reason = 1 and not o.released "
    "order by o.cluster, j.id";
inline constexpr const char* kDoctorLostJobs =
    "select 'member ' || o.cluster || ' has ' || o.object_kind || ' ' || o.namespace || '/' || "
    "o.name || ' (uid ' || o.remote_uid || ') of a job with the uid ' || o.job_uid || ', which "
    "this database does not have' from set_aside_objects o where o.reason = 1 and not o.released "
    "and not exists (select from jobs j where j.uid = o.job_uid) order by o.cluster, o.remote_uid";
inline constexpr const char* kDoctorLeftAlone =
    "select 'member ' || cluster || ' has ' || object_kind || ' ' || namespace || '/' || name || "
    "case reason when 2 then ', a copy of an attempt that goes on elsewhere' else ', with labels "
    "of this installation, which did not make it' end from set_aside_objects where reason in (2, "
    "3) and not released order by cluster, remote_uid";
inline constexpr const char* kDoctorRestored =
    "select 'restored at ' || to_char(to_timestamp(r.restored / 1000000) at time zone 'UTC', "
    "'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') || ' from a backup of ' || to_char(to_timestamp(r.backup / "
    "1000000) at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') || ' (lineage ' || r.lineage "
    "|| '); ' || (select count(*) from job_state s where s.state = 1) || ' jobs are held, ' || "
    "(select count(*) from dispatches d where d.state = 13) || ' attempts are quarantined' from "
    "restores r order by r.number desc limit 1";

/// The chain of hashes, link by link; `muster audit --verify` computes the hashes anew as well.
inline constexpr const char* kDoctorAudit =
    "select 'row ' || id || ' of the audit trail does not follow row ' || before_id from (select "
    "id, prev, hash, lag(id) over w as before_id, lag(hash) over w as before_hash from audit "
    "window w as (order by id)) a where before_id is not null and octet_length(hash) > 0 and (id "
    "<> before_id + 1 or (octet_length(before_hash) > 0 and prev <> before_hash)) order by id";

}  // namespace muster::pg::sql
