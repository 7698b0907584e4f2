// Every SQL statement of the C++ side, here and in the other headers statements_*.h. Nothing else
// of schedd/ contains SQL (db/migrations has the schema). A batch is one statement: its columns
// travel as arrays, one array for each column, which unnest() turns into rows.
#pragma once

#include "schedd/store/pg/statements_accept.h"
#include "schedd/store/pg/statements_lead.h"
#include "schedd/store/pg/statements_objects.h"

namespace muster::pg::sql {

// --- sessions

/// Marks a session as this connection's own. The answer is empty if it is marked already, as the
/// session of a pooler is that serves several connections by turns: what one of them sets, such as
/// synchronous_commit, then holds for another one's transactions or is lost. A pooler that gives
/// whole sessions to its connections resets each before the next one, and the mark with it.
inline constexpr const char* kOwnSession =
    "select case when coalesce(current_setting('muster.session', true), '') = '' then "
    "set_config('muster.session', 'taken', false) else '' end";
/// What FailureOf makes of an empty answer.
inline constexpr const char* kSharedSession = "MU004";

/// Plans are made once for each session, when tables may still be empty; the planner must use the
/// indexes nevertheless. Waits have deadlines of the daemon's own (watchdog.h): timeouts of the
/// role or the database, meant for people's queries, would only keep it from reading or committing
/// much at once.
inline constexpr const char* kWriterSettings =
    "set synchronous_commit = on; set plan_cache_mode = force_generic_plan; "
    "set enable_seqscan = off; set work_mem = '32MB'; "
    "set jit = off; set client_min_messages = warning; set application_name = 'musterd writer'; "
    "set statement_timeout = 0; set lock_timeout = 0; "
    "set idle_in_transaction_session_timeout = '60s'";
/// How a session ends, and with it its locks, when the daemon's host has vanished or the connection
/// is half open. What the URL, the role or the database sets stays; a server that does not know one
/// of these settings works without it. Without an effect on a unix socket.
inline constexpr const char* kSessionEnds =
    "select set_config(v.name, v.value, false) from (values ('tcp_keepalives_idle', '5'), "
    "('tcp_keepalives_interval', '2'), ('tcp_keepalives_count', '3'), ('tcp_user_timeout', "
    "'10000'), ('client_connection_check_interval', '5000')) v (name, value) join pg_settings s "
    "using (name) where s.source not in ('client', 'user', 'database', 'database user')";
/// How far the commits of this session wait.
inline constexpr const char* kSynchronousCommit = "select current_setting('synchronous_commit')";
/// What the database promises. The standbys are null for a role that may not see them.
inline constexpr const char* kDatabaseFacts =
    "select current_setting('fsync')::boolean, current_setting('full_page_writes')::boolean, "
    "current_setting('synchronous_standby_names'), case when pg_has_role(current_user, "
    "'pg_read_all_stats', 'usage') then (select count(*) from pg_stat_replication where state = "
    "'streaming' and sync_state in ('sync', 'quorum')) end";
/// Whether a commit of a daemon waits for a synchronous standby now. A role sees its own sessions.
inline constexpr const char* kAwaitsStandby =
    "select exists (select from pg_stat_activity where datname = current_database() and "
    "application_name = 'musterd writer' and wait_event = 'SyncRep')";
inline constexpr const char* kReaderSettings =
    "set default_transaction_read_only = on; set jit = off; set client_min_messages = warning; "
    "set statement_timeout = 0; set lock_timeout = 0; set application_name = 'musterd reader'";

// --- committing

/// The columns of job_state that a job's life changes. muster_expect fails the transaction if a job
/// does not exist.
inline constexpr PreparedStatement kUpdateJobs = {
    "update_jobs",
    "with t as (select * from unnest($1::bigint[], $2::smallint[], $3::boolean[], $4::boolean[], "
    "$5::text[], $6::text[], $7::text[], $8::int[], $9::json[], $10::bigint[], $11::bigint[], "
    "$12::bigint[], $13::int[], $14::int[], $15::int[], $16::json[], $17::bigint[], $18::int[], "
    "$19::int[], $20::int[], $21::json[]) as t (job_id, state, suspended_by_user, "
    "deletion_requested, reason, message, cluster, attempt, admission, admit_time, start_time, "
    "end_time, exit_code, exit_signal, requeues, conditions, resource_version, ready_pods, "
    "succeeded_pods, failed_pods, admission_state)), "
    "changed as (update job_state s set state = t.state, suspended_by_user = t.suspended_by_user, "
    "deletion_requested = t.deletion_requested, reason = t.reason, message = t.message, "
    "cluster = t.cluster, attempt = t.attempt, admission = t.admission, admit_time = t.admit_time, "
    "start_time = t.start_time, end_time = t.end_time, exit_code = t.exit_code, "
    "exit_signal = t.exit_signal, requeues = t.requeues, conditions = t.conditions, "
    "resource_version = t.resource_version, ready_pods = t.ready_pods, "
    "succeeded_pods = t.succeeded_pods, failed_pods = t.failed_pods, "
    "admission_state = t.admission_state from t where s.job_id = t.job_id returning 1) "
    "select muster_expect(cardinality($1), (select count(*) from changed), 'a job of this change "
    "does not exist')"};
/// A null live_name frees the name for another job. The time of the first deletion stays.
inline constexpr PreparedStatement kDeleteJobs = {
    "delete_jobs",
    "with gone as (update job_state set live_name = null, deleted_at = coalesce(deleted_at, "
    "(extract(epoch from clock_timestamp()) * 1000000)::bigint) where job_id = any "
    "($1::bigint[]) returning 1) select muster_expect(cardinality($1), (select count(*) from "
    "gone), 'a job of this change does not exist')"};
inline constexpr PreparedStatement kPutUsage = {
    "put_usage",
    "insert into quota_usage as u (cluster_queue, flavor, resource, amount) select * from "
    "unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) on conflict (cluster_queue, "
    "flavor, resource) do update set amount = excluded.amount, version = u.version + 1"};
/// An attempt never changes its member cluster: such a row is not updated, and muster_expect then
/// fails the transaction.
inline constexpr PreparedStatement kPutDispatches = {
    "put_dispatches",
    "with changed as (insert into dispatches as d (job_uid, attempt, job_id, cluster, "
    "incarnation, object_kind, namespace, name, remote_uid, state, detail) select * from "
    "unnest($1::uuid[], $2::int[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], "
    "$8::text[], $9::text[], $10::smallint[], $11::text[]) on conflict (job_uid, attempt) do "
    "update set incarnation = excluded.incarnation, object_kind = excluded.object_kind, "
    "namespace = excluded.namespace, name = excluded.name, remote_uid = excluded.remote_uid, "
    "state = excluded.state, detail = excluded.detail where d.cluster = excluded.cluster "
    "returning 1) select muster_expect(cardinality($1), (select count(*) from changed), 'the "
    "attempt was dispatched to another member cluster')"};
/// An attempt with an end time is closed for accounting: it is not updated.
inline constexpr PreparedStatement kPutAttempts = {
    "put_attempts",
    "insert into attempts as a (job_id, attempt, cluster, admit_time, start_time, end_time, "
    "outcome, reason, message, exit_code, exit_signal, admission, use) select * from "
    "unnest($1::bigint[], $2::int[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], "
    "$7::smallint[], $8::text[], $9::text[], $10::int[], $11::int[], $12::json[], $13::json[]) on "
    "conflict (job_id, attempt) do update set cluster = excluded.cluster, admit_time = "
    "excluded.admit_time, start_time = excluded.start_time, end_time = excluded.end_time, "
    "outcome = excluded.outcome, reason = excluded.reason, message = excluded.message, exit_code "
    "= excluded.exit_code, exit_signal = excluded.exit_signal, admission = excluded.admission, "
    "use = excluded.use where a.end_time is null"};
/// A step with an end time is closed: it is not updated.
inline constexpr PreparedStatement kPutSteps = {
    "put_steps",
    "insert into steps as s (job_id, attempt, step, name, nodes, node_count, tasks, cpus, state, "
    "start_time, end_time, exit_code, exit_signal, use) select * from unnest($1::bigint[], "
    "$2::int[], $3::int[], $4::text[], $5::text[], $6::int[], $7::int[], $8::int[], "
    "$9::smallint[], $10::bigint[], $11::bigint[], $12::int[], $13::int[], $14::json[]) on "
    "conflict (job_id, attempt, step) do update set name = excluded.name, nodes = excluded.nodes, "
    "node_count = excluded.node_count, tasks = excluded.tasks, cpus = excluded.cpus, "
    "state = excluded.state, start_time = excluded.start_time, end_time = excluded.end_time, "
    "exit_code = excluded.exit_code, exit_signal = excluded.exit_signal, use = excluded.use "
    "where s.end_time is null"};
/// Closes what attempts that have ended left open. $4 and $5: the state and signal that it gets.
inline constexpr PreparedStatement kCloseSteps = {
    "close_steps",
    "update steps s set end_time = greatest(t.end_time, s.start_time), state = "
    "$4::bigint::smallint, exit_signal = $5::bigint::int from unnest($1::bigint[], $2::int[], "
    "$3::bigint[]) as t (job_id, "
    "attempt, end_time) where s.job_id = t.job_id and s.attempt = t.attempt and s.end_time is "
    "null"};
inline constexpr PreparedStatement kAddEvents = {
    "add_events",
    "insert into events (seq, time, type, job_id, object, reason, message) select * from "
    "unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::text[], $6::text[], "
    "$7::text[])"};
inline constexpr PreparedStatement kAddAudit = {
    "add_audit",
    "insert into audit (id, time, request_id, user_name, user_groups, method, impersonator, "
    "source, verb, object, result, code, old_version, new_version, count, detail, prev, hash) "
    "select * from unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::json[], "
    "$6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], "
    "$13::bigint[], $14::bigint[], $15::bigint[], $16::text[], $17::bytea[], $18::bytea[])"};
/// $1 time, $2 how many rows at most; the one way by which rows go (db/migrations/0017).
inline constexpr PreparedStatement kForgetAudit = {
    "forget_audit", "select muster_forget_audit($1::bigint, $2::bigint)"};
inline constexpr PreparedStatement kPutFairUse = {
    "put_fair_use",
    "insert into fair_use (namespace, local_queue, consumed, updated) select * from "
    "unnest($1::text[], $2::text[], $3::json[], $4::bigint[]) on conflict (namespace, local_queue) "
    "do update set consumed = excluded.consumed, updated = excluded.updated"};
inline constexpr PreparedStatement kDropFairUse = {
    "drop_fair_use",
    "delete from fair_use f using unnest($1::text[], $2::text[]) as t (namespace, local_queue) "
    "where f.namespace = t.namespace and f.local_queue = t.local_queue"};
/// Only `released` changes after the object was first seen.
inline constexpr PreparedStatement kPutSetAside = {
    "put_set_aside",
    "insert into set_aside_objects (cluster, remote_uid, api_version, object_kind, namespace, "
    "name, job_uid, attempt, sequence, reason, released, first_seen) select * from "
    "unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::uuid[], "
    "$8::int[], $9::bigint[], $10::smallint[], $11::boolean[], $12::bigint[]) on conflict "
    "(cluster, remote_uid) do update set released = excluded.released"};
inline constexpr PreparedStatement kDropSetAside = {
    "drop_set_aside",
    "delete from set_aside_objects o using unnest($1::text[], $2::text[]) as t (cluster, "
    "remote_uid) where o.cluster = t.cluster and o.remote_uid = t.remote_uid"};
inline constexpr PreparedStatement kPutWorks = {
    "put_works",
    "insert into works select * from unnest($1::text[], $2::text[], $3::text[], $4::smallint[], "
    "$5::int[], $6::text[], $7::text[], $8::text[], $9::int[], $10::int[], $11::boolean[], "
    "$12::text[], $13::json[], $14::json[], $15::bigint[], $16::bigint[], $17::bigint[]) on "
    "conflict (namespace, placement, cluster) do update set state = excluded.state, "
    "revision = excluded.revision, policy = excluded.policy, rendered = excluded.rendered, "
    "override_error = excluded.override_error, affinity_score = excluded.affinity_score, "
    "spread_score = excluded.spread_score, abandon = excluded.abandon, waits = excluded.waits, "
    "overrides = excluded.overrides, manifests = excluded.manifests, "
    "scheduled_at = excluded.scheduled_at, bound_at = excluded.bound_at, "
    "synced_at = excluded.synced_at"};
inline constexpr PreparedStatement kDropWorks = {
    "drop_works",
    "delete from works w using unnest($1::text[], $2::text[], $3::text[]) as t (namespace, "
    "placement, cluster) where w.namespace = t.namespace and w.placement = t.placement and "
    "w.cluster = t.cluster"};
inline constexpr PreparedStatement kPutSnapshots = {
    "put_snapshots",
    "insert into resource_snapshots select * from unnest($1::text[], $2::text[], $3::int[], "
    "$4::text[], $5::bigint[], $6::json[]) on conflict (namespace, placement, revision) do update "
    "set hash = excluded.hash, created_at = excluded.created_at, resources = excluded.resources"};
inline constexpr PreparedStatement kDropSnapshots = {
    "drop_snapshots",
    "delete from resource_snapshots s using unnest($1::text[], $2::text[], $3::int[]) as t "
    "(namespace, placement, revision) where s.namespace = t.namespace and s.placement = "
    "t.placement and s.revision = t.revision"};
/// Replaces what a job was submitted with: the only change to table jobs after acceptance.
inline constexpr PreparedStatement kRespecifyJobs = {
    "respecify_jobs",
    "update jobs j set pod_sets = t.pod_sets, batch = t.batch, time_limit_s = t.time_limit_s, "
    "display_name = t.display_name, local_queue = t.local_queue, priority_class = "
    "t.priority_class, placement = t.placement, array_task_id = t.array_task_id from "
    "unnest($1::bigint[], $2::json[], $3::json[], $4::bigint[], $5::text[], $6::text[], "
    "$7::text[], $8::json[], $9::int[]) as t (id, pod_sets, batch, time_limit_s, display_name, "
    "local_queue, priority_class, placement, array_task_id) where j.id = t.id"};
/// $1 time, $2 how many keys at most. The age of the oldest key decides first whether there is
/// anything to do, so that the usual case reads one row.
inline constexpr PreparedStatement kForgetKeys = {
    "forget_keys",
    "with old as (select k.scope, k.key, j.submit_time from idempotency_keys k join jobs j on "
    "j.id = k.job_id where (select o.submit_time < $1::bigint from idempotency_keys f join jobs "
    "o on o.id = f.job_id order by f.job_id limit 1) order by k.job_id limit $2::bigint) delete "
    "from idempotency_keys k using old where k.scope = old.scope and k.key = old.key and "
    "old.submit_time < $1::bigint"};

/// Everything that WriteSession prepares when it connects.
inline constexpr PreparedStatement kWriterStatements[] = {
    kFence,         kAcceptJobs,  kAcceptKeyedJobs, kClaimKeys,  kFreeKeys,   kForeignKeys,
    kPutSteps,      kCloseSteps,  kUpdateJobs,      kDeleteJobs, kPutUsage,   kPutDispatches,
    kPutAttempts,   kAddEvents,   kAddAudit,        kForgetKeys, kPutFairUse, kDropFairUse,
    kRespecifyJobs, kPutSetAside, kDropSetAside,    kPutWorks,   kDropWorks,  kPutSnapshots,
    kDropSnapshots, kForgetAudit};

}  // namespace muster::pg::sql
