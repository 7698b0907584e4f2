// The part of statements.h for reads and for migrations.
#pragma once

#include <string>

#include "schedd/store/pg/statements.h"

namespace muster::pg::sql {

// --- reading

/// A job with its state. The columns are in the order in which job_rows.cc reads them.
#define MUSTER_JOB_SELECT                                                                         \
  "select j.id, j.uid, j.namespace, j.kind, j.name, j.display_name, j.user_name, j.local_queue, " \
  "j.cluster_queue, j.priority_class, j.priority, j.pod_sets, j.batch, j.time_limit_s, "          \
  "j.ttl_after_finished_s, j.submit_time, j.accept_seq, s.state, s.suspended_by_user, "           \
  "s.deletion_requested, "                                                                        \
  "s.reason, s.message, s.cluster, s.attempt, s.admission, s.admit_time, s.start_time, "          \
  "s.end_time, "                                                                                  \
  "s.exit_code, s.exit_signal, s.requeues, s.conditions, s.resource_version, s.ready_pods, "      \
  "s.succeeded_pods, s.failed_pods, s.admission_state, j.placement, j.account_uid from "          \
  "job_state s join jobs j on j.id = s.job_id "

inline constexpr const char* kEpochOf = "select epoch from leader";
/// Pages of a recovery: $1 is the last job id of the page before, $2 the size of a page.
inline constexpr const char* kLoadLiveJobs =
    MUSTER_JOB_SELECT "where not s.terminal and s.job_id > $1 order by s.job_id limit $2";
inline constexpr const char* kLoadEndedJobs = MUSTER_JOB_SELECT
    "where s.terminal and s.end_time >= $3 and s.deleted_at is null and s.job_id > $1 order by "
    "s.job_id limit $2";
inline constexpr const char* kLoadUsage =
    "select cluster_queue, flavor, resource, amount from quota_usage where amount <> 0 order by 1, "
    "2, 3";
inline constexpr const char* kLoadFairUse =
    "select namespace, local_queue, consumed, updated from fair_use order by 1, 2";
inline constexpr const char* kLoadSetAside =
    "select cluster, remote_uid, api_version, object_kind, namespace, name, job_uid, attempt, "
    "sequence, reason, released, first_seen from set_aside_objects order by 1, 2";
inline constexpr const char* kLoadWorks =
    "select namespace, placement, cluster, state, revision, policy, rendered, override_error, "
    "affinity_score, spread_score, abandon, waits, overrides, manifests, scheduled_at, bound_at, "
    "synced_at from works order by 1, 2, 3";
inline constexpr const char* kLoadSnapshots =
    "select namespace, placement, revision, hash, created_at, resources from resource_snapshots "
    "order by 1, 2, 3";
inline constexpr const char* kLoadDispatches =
    "select job_uid, attempt, job_id, cluster, incarnation, object_kind, namespace, name, "
    "remote_uid, state, detail "
    "from dispatches where not gone order by job_id, attempt";
/// The highest job id and the highest event number, so that the engine never gives one twice; not
/// below what a lost history may have given out.
inline constexpr const char* kLastNumbers = "select job, seq from muster_last_numbers()";
/// The last restore; no row if there was none.
inline constexpr const char* kLoadRestore =
    "select backup, last_seq from restores order by number desc limit 1";
/// Event numbers that lost histories may have given out.
inline constexpr const char* kLoadLostNumbers =
    "select last_seq, seq_floor from restores union all select last_seq, seq_floor from histories "
    "where seq_floor > last_seq";
/// One row for each id, in the given order; a task of an array has that of its array. It is null if
/// the job does not exist.
inline constexpr const char* kReadManifests =
    "select coalesce(j.manifest, a.manifest) from unnest($1::bigint[]) with ordinality as t (id, "
    "n) "
    "left join jobs j on j.id = t.id left join jobs a on j.manifest is null and a.id = "
    "j.array_job_id order by t.n";
/// How the ended tasks of these arrays ended. A record that stood for waiting tasks when it was
/// cancelled counts as many as it has.
inline constexpr const char* kReadArrayEnds =
    "select j.array_job_id, count(*) filter (where s.state = 5), coalesce(sum(case when "
    "j.array_task_id >= 0 then 1 else (select coalesce(sum(((r ->> 1)::bigint - (r ->> 0)::bigint) "
    "/ (r ->> 2)::bigint + 1), 0) from json_array_elements(s.admission_state #> '{batch,"
    "waitingTasks}') r) end) filter (where s.state > 5), 0)::bigint from jobs j join job_state s "
    "on "
    "s.job_id = j.id where s.state in (5, 6, 7) and j.array_job_id = any ($1::bigint[]) group by 1 "
    "order by 1";
inline constexpr const char* kReadJob = MUSTER_JOB_SELECT "where j.id = $1";
/// A condition whose parameter is null does not apply. That a job of an ended state (5 to 7) is
/// terminal lets the index of ended jobs find it (job_state_ended). $11 and $12 are places of
/// JobVisibility, "NAMESPACE/KIND" or "/KIND" for every namespace: of $12 only the jobs of user $13
/// are seen.
inline constexpr const char* kReadJobs = MUSTER_JOB_SELECT
    "where j.id > $1 and ($2::text is null or j.namespace = $2) and ($3::text is null or "
    "j.local_queue = $3) "
    "and ($4::text is null or j.user_name = $4) and ($5::smallint is null or s.state = $5) "
    "and ($5::smallint is null or $5 not between 5 and 7 or s.terminal) "
    "and ($6::smallint is null or j.kind = $6) and ($7::bigint is null or s.end_time >= $7) "
    "and ($8::boolean or s.deleted_at is null) "
    "and ($9::text is null or j.name = $9 or j.display_name = $9) "
    "and ($14::bigint is null or j.array_job_id = $14) "
    "and ($15::int is null or j.array_task_id = $15) "
    "and ($11::text[] is null or '/' || j.kind = any ($11) "
    "or j.namespace || '/' || j.kind = any ($11) or (j.user_name = $13::text "
    "and ('/' || j.kind = any ($12::text[]) or j.namespace || '/' || j.kind = any ($12)))) "
    "and ($16::bigint[] is null or j.id = any ($16)) order by j.id limit $10";
inline constexpr const char* kFindLiveJob = "select job_id from job_state where live_name = $1";
inline constexpr const char* kFindJobByUid = "select id from jobs where uid = $1";
/// The acceptance of a job is an event too, but has no row in events: it is made from the job's
/// row.
#define MUSTER_EVENT_SELECT \
  "select seq, time, type, job_id, object, reason, message from events where seq > $1 "
#define MUSTER_ACCEPTED_SELECT                                                                     \
  "select accept_seq, submit_time, 'JobAccepted', id, 'job/' || namespace || '/' || name, '', '' " \
  "from jobs where accept_seq > $1 "
inline constexpr const char* kReadEvents =
    "(" MUSTER_EVENT_SELECT "order by seq limit $2) union all (" MUSTER_ACCEPTED_SELECT
    "order by accept_seq limit $2) order by 1 limit $2";
inline constexpr const char* kReadJobEvents =
    "(" MUSTER_EVENT_SELECT "and job_id = $3) union all (" MUSTER_ACCEPTED_SELECT
    "and id = $3) order by 1 limit $2";
inline constexpr const char* kReadAttempts =
    "select job_id, attempt, cluster, admit_time, start_time, end_time, outcome, reason, message, "
    "exit_code, "
    "exit_signal, admission, use from attempts where job_id = any ($1::bigint[]) order by job_id, "
    "attempt";
inline constexpr const char* kReadSteps =
    "select job_id, attempt, step, name, nodes, node_count, tasks, cpus, state, start_time, "
    "end_time, exit_code, exit_signal, use from steps where job_id = any ($1::bigint[]) and "
    "(job_id, attempt, step) > ($2::bigint, $3::int, $4::int) order by job_id, attempt, step "
    "limit $5";
/// The columns of AuditOfRow. $1 since, $2 until, $3 user, $4 verb, $5 object, each null for any;
/// $6 the number after which rows begin, $7 how many at most. An object that ends in "/" stands for
/// everything below it.
#define MUSTER_AUDIT_SELECT                                                                       \
  "select id, time, request_id, user_name, user_groups, method, impersonator, source, verb, "     \
  "object, result, code, old_version, new_version, count, detail, encode(prev, 'hex'), "          \
  "encode(hash, 'hex') from audit where ($1::bigint is null or time >= $1) and ($2::bigint is "   \
  "null or time < $2) and ($3::text is null or user_name = $3) and ($4::text is null or verb = "  \
  "$4) and ($5::text is null or object = $5 or (right($5, 1) = '/' and starts_with(object, $5)))" \
  " and id > $6::bigint "
inline constexpr const char* kReadAudit = MUSTER_AUDIT_SELECT "order by id limit $7";
inline constexpr const char* kReadLastAudit =
    "select * from (" MUSTER_AUDIT_SELECT "order by id desc limit $7) a order by id";
inline constexpr const char* kReadAuditAnchor =
    "select last_id, encode(hash, 'hex') from audit_anchor order by last_id desc, number desc "
    "limit 1";
inline constexpr const char* kInstance = "select instance from installation";
inline constexpr const char* kPing = "select 1";

// --- migrations

inline constexpr const char* kMigratorSettings =
    "set client_min_messages = warning; set statement_timeout = 0; set application_name = 'musterd "
    "migrator'";
/// Fails with lock_not_available if another session holds the lock for longer than half a second.
inline constexpr const char* kMigrationLock =
    "set local lock_timeout = '500ms'; select pg_advisory_xact_lock(7205759403792793601); "
    "set local lock_timeout = 0";
inline constexpr const char* kNoMigrationTable = "select to_regclass('schema_migrations') is null";
inline constexpr const char* kMigrationTable =
    "create table if not exists schema_migrations (number integer primary key, name text not null, "
    "checksum text not null, applied_at timestamptz not null default now())";
inline constexpr const char* kMigrationsApplied =
    "select number, name, checksum from schema_migrations order by number";
inline constexpr const char* kChecksum = "select encode(sha256(convert_to($1, 'UTF8')), 'hex')";
inline constexpr const char* kRecordMigration =
    "insert into schema_migrations (number, name, checksum) values ($1, $2, $3)";
/// False for a role that row security shows no row: it is neither the owner nor muster_daemon.
inline constexpr const char* kSeesJobs =
    "select not row_security_active('jobs') or exists (select from pg_roles where rolname = "
    "'muster_daemon' and pg_has_role(current_user, oid, 'usage'))";
/// The least age of audit rows that may go (db/migrations/0019).
inline constexpr const char* kAuditPolicy = "select min_age_ms from audit_policy";
inline constexpr const char* kSetAuditPolicy = "update audit_policy set min_age_ms = $1";
inline constexpr const char* kServerVersion = "show server_version_num";

}  // namespace muster::pg::sql
