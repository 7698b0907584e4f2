// Every SQL statement of the C++ side, here and in the other headers statements_*.h.
// Nothing else of schedd/ contains SQL (db/migrations has the schema). Columns travel as arrays,
// one array a column, so that a batch is one statement.
#pragma once

#include "schedd/store/pg/statements_lead.h"
#include "schedd/store/pg/statements_objects.h"

namespace muster::pg::sql {

/// A prepared statement of the writer.
struct Prepared {
  const char* name;
  const char* text;
};

// --- sessions
// ---------------------------------------------------------------------------------------------

/// Plans are made once, on tables that may still be empty: they must use the keys nevertheless.
inline constexpr const char* kWriterSettings =
    "set synchronous_commit = on; set plan_cache_mode = force_generic_plan; "
    "set enable_seqscan = off; set work_mem = '32MB'; "
    "set jit = off; set client_min_messages = warning; set application_name = 'musterd writer'; "
    "set idle_in_transaction_session_timeout = '60s'";
/// What ends the session, and with it the leader's lock, when the daemon's host has vanished. For a
/// unix socket they mean nothing; a server that does not know one of them goes without.
inline constexpr const char* kSessionEnds =
    "set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 3; "
    "set tcp_user_timeout = 10000; set client_connection_check_interval = '5s'";
inline constexpr const char* kReaderSettings =
    "set default_transaction_read_only = on; set jit = off; set client_min_messages = warning; "
    "set application_name = 'musterd reader'";

// --- accepting
// --------------------------------------------------------------------------------------------

inline constexpr Prepared kFence = {"fence", "select muster_fence($1::bigint, $2::bigint)"};

#define MUSTER_NEW_JOB_COLUMNS                                                               \
  "id, uid, namespace, kind, name, display_name, user_name, local_queue, cluster_queue, "    \
  "priority_class, "                                                                         \
  "priority, pod_sets, batch, time_limit_s, ttl_after_finished_s, submit_time, accept_seq, " \
  "manifest"
#define MUSTER_NEW_JOB_ARRAYS                                                                     \
  "$1::bigint[], $2::uuid[], $3::text[], $4::smallint[], $5::text[], $6::text[], $7::text[], "    \
  "$8::text[], "                                                                                  \
  "$9::text[], $10::text[], $11::int[], $12::json[], $13::json[], $14::bigint[], $15::bigint[], " \
  "$16::bigint[], $17::bigint[], $18::json[], $19::smallint[], $20::boolean[], $21::text[], "     \
  "$22::text[], "                                                                                 \
  "$23::json[], $24::bigint[], $25::json[], $26::json[]"
#define MUSTER_NEW_JOB_FIELDS                                 \
  MUSTER_NEW_JOB_COLUMNS                                      \
  ", state, suspended_by_user, reason, message, conditions, " \
  "resource_version, admission_state, placement"
#define MUSTER_INSERT_NAMED                                                                        \
  "insert into job_state (job_id, live_name, state, suspended_by_user, reason, message, "          \
  "conditions, "                                                                                   \
  "resource_version, admission_state) select id, namespace || '/' || kind || '/' || name, state, " \
  "suspended_by_user, reason, "                                                                    \
  "message, conditions, resource_version, admission_state from t "
#define MUSTER_INSERT_JOBS                                                             \
  "on conflict (live_name) where live_name is not null do nothing returning job_id), " \
  "added as (insert into jobs (" MUSTER_NEW_JOB_COLUMNS                                \
  ", placement) select " MUSTER_NEW_JOB_COLUMNS                                        \
  ", placement from t "                                                                \
  "where id in (select job_id from named)) select job_id from named"

/// Returns the ids that were inserted; the others' names are taken.
inline constexpr Prepared kAcceptJobs = {
    "accept_jobs", "with t as materialized (select * from unnest(" MUSTER_NEW_JOB_ARRAYS
                   ") as t (" MUSTER_NEW_JOB_FIELDS
                   ")), "
                   "named as (" MUSTER_INSERT_NAMED MUSTER_INSERT_JOBS};
/// The same for jobs that may carry a key ($27 scope, $28 key; null: none): only those whose key is
/// theirs.
inline constexpr Prepared kAcceptKeyedJobs = {
    "accept_keyed_jobs",
    "with t as materialized (select * from unnest(" MUSTER_NEW_JOB_ARRAYS
    ", $27::text[], $28::text[]) "
    "as t (" MUSTER_NEW_JOB_FIELDS
    ", key_scope, key_text)), "
    "named as (" MUSTER_INSERT_NAMED
    "where key_text is null or exists (select from idempotency_keys k where k.scope = key_scope "
    "and k.key = key_text and k.job_id = t.id) " MUSTER_INSERT_JOBS};

#define MUSTER_KEY_ROWS                                                                        \
  "unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) as t (scope, key, fingerprint, " \
  "job_id)"
inline constexpr Prepared kClaimKeys = {"claim_keys",
                                        "insert into idempotency_keys (scope, key, fingerprint, "
                                        "job_id) select scope, key, fingerprint, job_id "
                                        "from " MUSTER_KEY_ROWS
                                        " on conflict (scope, key) do nothing"};
/// A key whose job was refused (its name is taken) is free again.
inline constexpr Prepared kFreeKeys = {
    "free_keys",
    "delete from idempotency_keys k using " MUSTER_KEY_ROWS
    " where k.scope = t.scope and k.key = t.key "
    "and k.job_id = t.job_id and not exists (select from job_state s where s.job_id = t.job_id)"};
/// For each key that another job holds: the asking job, the holder, the holder's request.
inline constexpr Prepared kForeignKeys = {
    "foreign_keys", "select t.job_id, k.job_id, k.fingerprint from " MUSTER_KEY_ROWS
                    " join idempotency_keys k "
                    "on k.scope = t.scope and k.key = t.key where k.job_id <> t.job_id"};
/// After a lost answer: which of these jobs are there. Another leader may have given the same
/// number to another job: only the uid tells whose it is.
inline constexpr const char* kExistingJobs =
    "select j.id from unnest($1::bigint[], $2::uuid[]) as t (id, uid) join jobs j on j.id = t.id "
    "and j.uid = t.uid";

// --- committing
// -------------------------------------------------------------------------------------------

inline constexpr Prepared kUpdateJobs = {
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
inline constexpr Prepared kDeleteJobs = {
    "delete_jobs",
    "with gone as (update job_state set live_name = null, deleted_at = coalesce(deleted_at, "
    "(extract(epoch from clock_timestamp()) * 1000000)::bigint) where job_id = any "
    "($1::bigint[]) returning 1) select muster_expect(cardinality($1), (select count(*) from "
    "gone), 'a job of this change does not exist')"};
inline constexpr Prepared kPutUsage = {
    "put_usage",
    "insert into quota_usage as u (cluster_queue, flavor, resource, amount) select * from "
    "unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) on conflict (cluster_queue, "
    "flavor, resource) do update set amount = excluded.amount, version = u.version + 1"};
inline constexpr Prepared kPutDispatches = {
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
inline constexpr Prepared kPutAttempts = {
    "put_attempts",
    "insert into attempts as a (job_id, attempt, cluster, admit_time, start_time, end_time, "
    "outcome, reason, message, exit_code, exit_signal, admission) select * from "
    "unnest($1::bigint[], $2::int[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], "
    "$7::smallint[], $8::text[], $9::text[], $10::int[], $11::int[], $12::json[]) on conflict "
    "(job_id, attempt) do update set cluster = excluded.cluster, admit_time = "
    "excluded.admit_time, start_time = excluded.start_time, end_time = excluded.end_time, "
    "outcome = excluded.outcome, reason = excluded.reason, message = excluded.message, exit_code "
    "= excluded.exit_code, exit_signal = excluded.exit_signal, admission = excluded.admission "
    "where a.end_time is null"};
inline constexpr Prepared kAddEvents = {
    "add_events",
    "insert into events (seq, time, type, job_id, object, reason, message) select * from "
    "unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::text[], $6::text[], "
    "$7::text[])"};
inline constexpr Prepared kAddAudit = {
    "add_audit",
    "insert into audit (time, user_name, method, verb, object, detail) select * from "
    "unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])"};
inline constexpr Prepared kPutFairUse = {
    "put_fair_use",
    "insert into fair_use (namespace, local_queue, consumed, updated) select * from "
    "unnest($1::text[], $2::text[], $3::json[], $4::bigint[]) on conflict (namespace, local_queue) "
    "do update set consumed = excluded.consumed, updated = excluded.updated"};
inline constexpr Prepared kDropFairUse = {
    "drop_fair_use",
    "delete from fair_use f using unnest($1::text[], $2::text[]) as t (namespace, local_queue) "
    "where f.namespace = t.namespace and f.local_queue = t.local_queue"};
inline constexpr Prepared kPutSetAside = {
    "put_set_aside",
    "insert into set_aside_objects (cluster, remote_uid, api_version, object_kind, namespace, "
    "name, job_uid, attempt, sequence, reason, released, first_seen) select * from "
    "unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::uuid[], "
    "$8::int[], $9::bigint[], $10::smallint[], $11::boolean[], $12::bigint[]) on conflict "
    "(cluster, remote_uid) do update set released = excluded.released"};
inline constexpr Prepared kDropSetAside = {
    "drop_set_aside",
    "delete from set_aside_objects o using unnest($1::text[], $2::text[]) as t (cluster, "
    "remote_uid) where o.cluster = t.cluster and o.remote_uid = t.remote_uid"};
inline constexpr Prepared kPutWorks = {
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
inline constexpr Prepared kDropWorks = {
    "drop_works",
    "delete from works w using unnest($1::text[], $2::text[], $3::text[]) as t (namespace, "
    "placement, cluster) where w.namespace = t.namespace and w.placement = t.placement and "
    "w.cluster = t.cluster"};
inline constexpr Prepared kPutSnapshots = {
    "put_snapshots",
    "insert into resource_snapshots select * from unnest($1::text[], $2::text[], $3::int[], "
    "$4::text[], $5::bigint[], $6::json[]) on conflict (namespace, placement, revision) do update "
    "set hash = excluded.hash, created_at = excluded.created_at, resources = excluded.resources"};
inline constexpr Prepared kDropSnapshots = {
    "drop_snapshots",
    "delete from resource_snapshots s using unnest($1::text[], $2::text[], $3::int[]) as t "
    "(namespace, placement, revision) where s.namespace = t.namespace and s.placement = "
    "t.placement and s.revision = t.revision"};
inline constexpr Prepared kRespecifyJobs = {
    "respecify_jobs",
    "update jobs j set pod_sets = t.pod_sets from unnest($1::bigint[], $2::json[]) as t (id, "
    "pod_sets) where j.id = t.id"};
/// $1 time, $2 how many at most. The oldest key alone says whether there is anything to do.
inline constexpr Prepared kForgetKeys = {
    "forget_keys",
    "with old as (select k.scope, k.key, j.submit_time from idempotency_keys k join jobs j on "
    "j.id = k.job_id where (select o.submit_time < $1::bigint from idempotency_keys f join jobs "
    "o on o.id = f.job_id order by f.job_id limit 1) order by k.job_id limit $2::bigint) delete "
    "from idempotency_keys k using old where k.scope = old.scope and k.key = old.key and "
    "old.submit_time < $1::bigint"};

inline constexpr Prepared kWriterStatements[] = {
    kFence,        kAcceptJobs, kAcceptKeyedJobs, kClaimKeys,     kFreeKeys,      kForeignKeys,
    kUpdateJobs,   kDeleteJobs, kPutUsage,        kPutDispatches, kPutAttempts,   kAddEvents,
    kAddAudit,     kForgetKeys, kPutFairUse,      kDropFairUse,   kRespecifyJobs, kPutSetAside,
    kDropSetAside, kPutWorks,   kDropWorks,       kPutSnapshots,  kDropSnapshots};

}  // namespace muster::pg::sql
