// The part of statements.h for new jobs, and the fence that begins every transaction.
#pragma once

namespace muster::pg::sql {

/// A statement that the writer prepares once for each session.
struct PreparedStatement {
  const char* name;
  const char* text;
};

/// $1 epoch, $2 number of the group. Fails for an epoch that does not lead and records the number
/// (db/migrations/0001_installation.up.sql).
inline constexpr PreparedStatement kFence = {"fence",
                                             "select muster_fence($1::bigint, $2::bigint)"};

/// The columns of table jobs, in the order of the first parameters; the columns of job_state follow
/// in MUSTER_NEW_JOB_FIELDS.
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
  "$23::json[], $24::bigint[], $25::json[], $26::json[], $27::bigint[], $28::bigint[], "          \
  "$29::int[]"
#define MUSTER_NEW_JOB_FIELDS                                 \
  MUSTER_NEW_JOB_COLUMNS                                      \
  ", state, suspended_by_user, reason, message, conditions, " \
  "resource_version, admission_state, placement, account_uid, array_job_id, array_task_id"
/// The state row comes first, because its live_name decides whether a job is accepted.
#define MUSTER_INSERT_NAMED                                                                        \
  "insert into job_state (job_id, live_name, state, suspended_by_user, reason, message, "          \
  "conditions, "                                                                                   \
  "resource_version, admission_state) select id, namespace || '/' || kind || '/' || name, state, " \
  "suspended_by_user, reason, "                                                                    \
  "message, conditions, resource_version, admission_state from t "
#define MUSTER_INSERT_JOBS                                                             \
  "on conflict (live_name) where live_name is not null do nothing returning job_id), " \
  "added as (insert into jobs (" MUSTER_NEW_JOB_COLUMNS                                \
  ", placement, account_uid, array_job_id, array_task_id) select "                     \
  MUSTER_NEW_JOB_COLUMNS                                                               \
  ", placement, account_uid, array_job_id, array_task_id from t "                      \
  "where id in (select job_id from named)) select job_id from named"

/// Returns the ids of the jobs that were inserted; the names of the other jobs are taken.
inline constexpr PreparedStatement kAcceptJobs = {
    "accept_jobs", "with t as materialized (select * from unnest(" MUSTER_NEW_JOB_ARRAYS
                   ") as t (" MUSTER_NEW_JOB_FIELDS
                   ")), "
                   "named as (" MUSTER_INSERT_NAMED MUSTER_INSERT_JOBS};
/// The same for jobs that may carry an idempotency key ($30 scope, $31 key; null: none). A job is
/// inserted only if it has no key or holds it (kClaimKeys).
inline constexpr PreparedStatement kAcceptKeyedJobs = {
    "accept_keyed_jobs",
    "with t as materialized (select * from unnest(" MUSTER_NEW_JOB_ARRAYS
    ", $30::text[], $31::text[]) "
    "as t (" MUSTER_NEW_JOB_FIELDS
    ", key_scope, key_text)), "
    "named as (" MUSTER_INSERT_NAMED
    "where key_text is null or exists (select from idempotency_keys k where k.scope = key_scope "
    "and k.key = key_text and k.job_id = t.id) " MUSTER_INSERT_JOBS};

#define MUSTER_KEY_ROWS                                                                        \
  "unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) as t (scope, key, fingerprint, " \
  "job_id)"
/// The first job that claims a key holds it.
inline constexpr PreparedStatement kClaimKeys = {
    "claim_keys",
    "insert into idempotency_keys (scope, key, fingerprint, "
    "job_id) select scope, key, fingerprint, job_id "
    "from " MUSTER_KEY_ROWS " on conflict (scope, key) do nothing"};
/// Frees the keys of jobs that were refused because their name is taken.
inline constexpr PreparedStatement kFreeKeys = {
    "free_keys",
    "delete from idempotency_keys k using " MUSTER_KEY_ROWS
    " where k.scope = t.scope and k.key = t.key "
    "and k.job_id = t.job_id and not exists (select from job_state s where s.job_id = t.job_id)"};
/// For each key that another job holds: the new job, the job that holds the key, and the
/// fingerprint of the request that made it.
inline constexpr PreparedStatement kForeignKeys = {
    "foreign_keys", "select t.job_id, k.job_id, k.fingerprint from " MUSTER_KEY_ROWS
                    " join idempotency_keys k "
                    "on k.scope = t.scope and k.key = t.key where k.job_id <> t.job_id"};
/// After a lost answer: which of these jobs are stored. The uid must match, because another leader
/// may have given the same id to another job.
inline constexpr const char* kExistingJobs =
    "select j.id from unnest($1::bigint[], $2::uuid[]) as t (id, uid) join jobs j on j.id = t.id "
    "and j.uid = t.uid";

}  // namespace muster::pg::sql
