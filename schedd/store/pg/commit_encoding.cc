// A PlanCommit as SQL: one function for each table turns rows into columns and queues one
// statement.
//
// Rows of one key are reduced to the last one first, because PostgreSQL refuses a statement whose
// ON CONFLICT DO UPDATE meets a row twice. The order of the statements follows the constraints:
// jobs before the attempts and dispatches that refer to them, deletions before insertions of the
// same key.
#include <algorithm>
#include <map>
#include <tuple>

#include "schedd/base/limits.h"
#include "schedd/model/step_end.h"
#include "schedd/store/pg/admission_json.h"
#include "schedd/store/pg/batch_encoding.h"
#include "schedd/store/pg/row_json.h"
#include "schedd/store/pg/statements.h"
#include "schedd/store/pg/use_json.h"
#include "schedd/store/pg/works_json.h"

namespace muster::pg {
namespace {

using E = ElementType;

// The last value of each key, in key order.
template <class Key, class Row, class KeyOf>
std::map<Key, const Row*> LastByKey(const std::vector<Row>& rows, KeyOf key_of) {
  std::map<Key, const Row*> last;
  for (const Row& row : rows) last[key_of(row)] = &row;
  return last;
}

// The columns as parameters $1, $2, ...
template <class... Columns>
Params ArraysOf(Columns&... columns) {
  Params params;
  (params.Array(columns), ...);
  return params;
}

// State rows: the columns of job_state that change during a job's life.
void QueueJobs(const std::vector<JobPtr>& jobs, PqConnection& connection) {
  Column id{E::kInt8}, state{E::kInt2}, suspended{E::kBool}, deletion{E::kBool}, reason{E::kText},
      message{E::kText}, cluster{E::kText}, attempt{E::kInt4}, admission{E::kJson}, admit{E::kInt8},
      start{E::kInt8}, end{E::kInt8}, exit_code{E::kInt4}, exit_signal{E::kInt4},
      requeues{E::kInt4}, conditions{E::kJson}, version{E::kInt8}, ready{E::kInt4},
      succeeded{E::kInt4}, failed{E::kInt4}, admission_state{E::kJson};
  for (const auto& [job_id, ptr] :
       LastByKey<JobId, JobPtr>(jobs, [](const JobPtr& job) { return job->id; })) {
    const JobRecord& job = **ptr;
    id.Int8(job_id.value);
    state.Int2(static_cast<std::int16_t>(job.state));
    suspended.Bool(job.suspended_by_user);
    deletion.Bool(job.deletion_requested);
    reason.Text(ReasonName(job.reason));
    message.Text(job.message);
    cluster.Text(job.cluster);
    attempt.Int4(job.attempt);
    admission.OptionalText(job.admission == nullptr ? "" : AdmissionText(*job.admission));
    admit.Time(job.admit_time);
    start.Time(job.start_time);
    end.Time(job.end_time);
    exit_code.OptionalInt4(job.exit_code);
    exit_signal.Int4(job.exit_signal);
    requeues.Int4(job.requeues);
    conditions.OptionalText(job.conditions == nullptr ? "" : ConditionsText(*job.conditions));
    version.Int8(job.resource_version);
    ready.Int4(job.ready_pods);
    succeeded.Int4(job.succeeded_pods);
    failed.Int4(job.failed_pods);
    admission_state.OptionalText(AdmissionStateText(job));
  }
  connection.Queue(sql::kUpdateJobs.name,
                   ArraysOf(id, state, suspended, deletion, reason, message, cluster, attempt,
                            admission, admit, start, end, exit_code, exit_signal, requeues,
                            conditions, version, ready, succeeded, failed, admission_state));
}

// Ids are unique, because the statement checks that it changed as many rows as it was given.
void QueueDeletions(std::vector<JobId> ids, PqConnection& connection) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  Column id{E::kInt8};
  for (JobId job : ids) id.Int8(job.value);
  connection.Queue(sql::kDeleteJobs.name, ArraysOf(id));
}

// Absolute amounts: repeating a commit gives the same rows.
void QueueUsage(const std::vector<UsageRow>& usage, PqConnection& connection) {
  using Key = std::tuple<std::string, std::string, std::string>;
  Column queue{E::kText}, flavor{E::kText}, resource{E::kText}, amount{E::kInt8};
  for (const auto& [key, row] : LastByKey<Key, UsageRow>(
           usage, [](const UsageRow& r) { return Key(r.cluster_queue, r.flavor, r.resource); })) {
    queue.Text(row->cluster_queue);
    flavor.Text(row->flavor);
    resource.Text(row->resource);
    amount.Int8(row->amount);
  }
  connection.Queue(sql::kPutUsage.name, ArraysOf(queue, flavor, resource, amount));
}

// Rows that release a name or a job come before rows that take one: both may be in one statement.
int Claim(DispatchState state) {
  if (state == DispatchState::kGone) return 0;
  return IsLive(state) ? 2 : 1;
}

// Rows are sorted by Claim before they become columns, because the unique indexes are checked row
// by row.
void QueueDispatches(const std::vector<DispatchRow>& dispatches, PqConnection& connection) {
  using Key = std::pair<Uid, std::int32_t>;
  const auto last = LastByKey<Key, DispatchRow>(
      dispatches, [](const DispatchRow& row) { return Key(row.key.job_uid, row.key.attempt); });
  std::vector<const DispatchRow*> rows;
  for (const auto& [key, row] : last) rows.push_back(row);
  std::stable_sort(rows.begin(), rows.end(), [](const DispatchRow* a, const DispatchRow* b) {
    return Claim(a->state) < Claim(b->state);
  });
  Column uid{E::kUuid}, attempt{E::kInt4}, job{E::kInt8}, cluster{E::kText}, incarnation{E::kText},
      kind{E::kText}, ns{E::kText}, name{E::kText}, remote{E::kText}, state{E::kInt2},
      detail{E::kText};
  for (const DispatchRow* row : rows) {
    uid.Uuid(row->key.job_uid);
    attempt.Int4(row->key.attempt);
    job.Int8(row->job.value);
    cluster.Text(row->key.cluster);
    incarnation.Text(row->incarnation);
    kind.Text(row->object_kind);
    ns.Text(row->ns);
    name.Text(row->name);
    remote.Text(row->remote_uid);
    state.Int2(static_cast<std::int16_t>(row->state));
    detail.Text(row->detail);
  }
  connection.Queue(sql::kPutDispatches.name, ArraysOf(uid, attempt, job, cluster, incarnation, kind,
                                                      ns, name, remote, state, detail));
}

// The statement leaves attempts alone that have an end time.
void QueueAttempts(const std::vector<AttemptRecord>& attempts, PqConnection& connection) {
  using Key = std::pair<JobId, std::int32_t>;
  Column job{E::kInt8}, number{E::kInt4}, cluster{E::kText}, admit{E::kInt8}, start{E::kInt8},
      end{E::kInt8}, outcome{E::kInt2}, reason{E::kText}, message{E::kText}, exit_code{E::kInt4},
      exit_signal{E::kInt4}, admission{E::kJson}, use{E::kJson};
  for (const auto& [key, row] : LastByKey<Key, AttemptRecord>(
           attempts, [](const AttemptRecord& r) { return Key(r.job, r.attempt); })) {
    job.Int8(row->job.value);
    number.Int4(row->attempt);
    cluster.Text(row->cluster);
    admit.Time(row->admit_time);
    start.Time(row->start_time);
    end.Time(row->end_time);
    outcome.Int2(static_cast<std::int16_t>(row->outcome));
    reason.Text(ReasonName(row->reason));
    message.Text(row->message);
    exit_code.OptionalInt4(row->exit_code);
    exit_signal.Int4(row->exit_signal);
    admission.OptionalText(row->admission == nullptr ? "" : AdmissionText(*row->admission));
    use.OptionalText(UseText(row->use));
  }
  connection.Queue(sql::kPutAttempts.name,
                   ArraysOf(job, number, cluster, admit, start, end, outcome, reason, message,
                            exit_code, exit_signal, admission, use));
}

// The statement leaves steps alone that have an end time, so the first such row of a key counts.
void QueueSteps(const std::vector<StepRecord>& steps, PqConnection& connection) {
  std::map<std::tuple<JobId, std::int32_t, std::int32_t>, const StepRecord*> rows;
  for (const StepRecord& step : steps) {
    const StepRecord*& row = rows[{step.job, step.attempt, step.step}];
    if (row == nullptr || !row->end_time.set()) row = &step;
  }
  Column job{E::kInt8}, attempt{E::kInt4}, number{E::kInt4}, name{E::kText}, nodes{E::kText},
      node_count{E::kInt4}, tasks{E::kInt4}, cpus{E::kInt4}, state{E::kInt2}, start{E::kInt8},
      end{E::kInt8}, exit_code{E::kInt4}, exit_signal{E::kInt4}, use{E::kJson};
  for (const auto& [key, row] : rows) {
    job.Int8(row->job.value);
    attempt.Int4(row->attempt);
    number.Int4(row->step);
    name.Text(row->name);
    nodes.Text(row->nodes);
    node_count.Int4(row->node_count);
    tasks.Int4(row->tasks);
    cpus.Int4(row->cpus);
    state.Int2(static_cast<std::int16_t>(row->state));
    start.Time(row->start_time);
    end.Time(row->end_time);
    exit_code.Int4(row->exit_code);
    exit_signal.Int4(row->exit_signal);
    use.OptionalText(UseText(row->use));
  }
  connection.Queue(sql::kPutSteps.name,
                   ArraysOf(job, attempt, number, name, nodes, node_count, tasks, cpus, state,
                            start, end, exit_code, exit_signal, use));
}

// Follows the steps of the same commit, so that these are closed too. An attempt that was closed
// before has no open steps, unless they came after its end.
void QueueClosedSteps(const std::vector<AttemptRecord>& attempts, PqConnection& connection) {
  Column job{E::kInt8}, number{E::kInt4}, end{E::kInt8};
  bool any = false;
  for (const AttemptRecord& row : attempts) {
    if (!row.end_time.set()) continue;
    any = true;
    job.Int8(row.job.value);
    number.Int4(row.attempt);
    end.Time(row.end_time);
  }
  if (!any) return;
  connection.Queue(sql::kCloseSteps.name, ArraysOf(job, number, end)
                                              .Int8(static_cast<std::int64_t>(kUnendedStepState))
                                              .Int8(kUnendedStepSignal));
}

// Configuration objects of one kind, which is one table. The statements are built for the table and
// not prepared: such writes are rare.
void QueueObjects(const shapes::KindInfo& kind, const std::vector<ObjectWrite>& objects,
                  PqConnection& connection) {
  using Key = std::pair<std::string, std::string>;
  std::map<Key, const ObjectWrite*> last;
  for (const ObjectWrite& write : objects) {
    if (write.object->kind == kind.kind) last[Key(write.object->ns, write.object->name)] = &write;
  }
  Column gone_name{E::kText}, gone_ns{E::kText}, name{E::kText}, uid{E::kUuid},
      generation{E::kInt8}, version{E::kInt8}, created{E::kInt8}, manifest{E::kJson}, ns{E::kText};
  bool removes = false, puts = false;
  for (const auto& [key, write] : last) {
    const StoredObject& object = *write->object;
    if (write->remove) {
      removes = true;
      gone_name.Text(object.name);
      gone_ns.Text(object.ns);
      continue;
    }
    puts = true;
    name.Text(object.name);
    uid.Uuid(object.uid);
    generation.Int8(object.generation);
    version.Int8(object.resource_version);
    created.Int8(object.creation_time.us);
    manifest.Text(object.manifest);
    ns.Text(object.ns);
  }
  if (removes) {
    Params params = ArraysOf(gone_name);
    if (kind.namespaced) params.Array(gone_ns);
    connection.QueueSql(sql::DeleteObjects(kind), params);
  }
  if (puts) {
    Params params = ArraysOf(name, uid, generation, version, created, manifest);
    if (kind.namespaced) params.Array(ns);
    connection.QueueSql(sql::PutObjects(kind), params);
  }
}

// Events are only inserted: their numbers are unique, so no reduction is needed.
void QueueEvents(const std::vector<Event>& events, PqConnection& connection) {
  Column seq{E::kInt8}, time{E::kInt8}, type{E::kText}, job{E::kInt8}, object{E::kText},
      reason{E::kText}, message{E::kText};
  for (const Event& event : events) {
    seq.Int8(event.seq);
    time.Int8(event.time.us);
    type.Text(event.type);
    if (event.job.value == 0) {
      job.Null();
    } else {
      job.Int8(event.job.value);
    }
    object.Text(event.object);
    reason.Text(event.reason);
    message.Text(event.message);
  }
  connection.Queue(sql::kAddEvents.name, ArraysOf(seq, time, type, job, object, reason, message));
}

// Queues that are gone are deleted, the others are upserted.
void QueueFairUse(const std::vector<FairUseRow>& rows, PqConnection& connection) {
  using Key = std::pair<std::string, std::string>;
  Column gone_ns{E::kText}, gone_queue{E::kText}, ns{E::kText}, queue{E::kText}, consumed{E::kJson},
      updated{E::kInt8};
  bool removes = false, puts = false;
  for (const auto& [key, row] : LastByKey<Key, FairUseRow>(
           rows, [](const FairUseRow& r) { return Key(r.ns, r.local_queue); })) {
    if (row->remove) {
      removes = true;
      gone_ns.Text(row->ns);
      gone_queue.Text(row->local_queue);
      continue;
    }
    puts = true;
    ns.Text(row->ns);
    queue.Text(row->local_queue);
    consumed.Text(AmountsText(row->consumed));
    updated.Int8(row->updated.us);
  }
  if (removes) connection.Queue(sql::kDropFairUse.name, ArraysOf(gone_ns, gone_queue));
  if (puts) connection.Queue(sql::kPutFairUse.name, ArraysOf(ns, queue, consumed, updated));
}

// Objects that are gone from their member cluster are deleted, the others are upserted.
void QueueSetAside(const std::vector<SetAsideWrite>& writes, PqConnection& connection) {
  using Key = std::pair<std::string, std::string>;
  Column gone_cluster{E::kText}, gone_uid{E::kText}, cluster{E::kText}, uid{E::kText},
      version{E::kText}, kind{E::kText}, ns{E::kText}, name{E::kText}, job{E::kUuid},
      attempt{E::kInt4}, sequence{E::kInt8}, reason{E::kInt2}, released{E::kBool}, seen{E::kInt8};
  bool removes = false, puts = false;
  for (const auto& [key, write] : LastByKey<Key, SetAsideWrite>(writes, [](const SetAsideWrite& w) {
         return Key(w.object.cluster, w.object.remote_uid);
       })) {
    const SetAsideObject& one = write->object;
    if (write->remove) {
      removes = true;
      gone_cluster.Text(one.cluster);
      gone_uid.Text(one.remote_uid);
      continue;
    }
    puts = true;
    cluster.Text(one.cluster);
    uid.Text(one.remote_uid);
    version.Text(one.object.api_version);
    kind.Text(one.object.kind);
    ns.Text(one.object.ns);
    name.Text(one.object.name);
    job.Uuid(one.job_uid);
    attempt.Int4(one.attempt);
    sequence.Int8(one.sequence);
    reason.Int2(static_cast<std::int16_t>(one.reason));
    released.Bool(one.released);
    seen.Int8(one.first_seen.us);
  }
  if (removes) connection.Queue(sql::kDropSetAside.name, ArraysOf(gone_cluster, gone_uid));
  if (puts) {
    connection.Queue(sql::kPutSetAside.name, ArraysOf(cluster, uid, version, kind, ns, name, job,
                                                      attempt, sequence, reason, released, seen));
  }
}

// The whole row of each Work, also the fields that did not change.
void QueueWorks(const std::vector<WorkPtr>& works, PqConnection& connection) {
  Column ns{E::kText}, placement{E::kText}, cluster{E::kText}, state{E::kInt2}, revision{E::kInt4},
      policy{E::kText}, rendered{E::kText}, error{E::kText}, affinity{E::kInt4}, spread{E::kInt4},
      abandon{E::kBool}, waits{E::kText}, overrides{E::kJson}, manifests{E::kJson},
      scheduled{E::kInt8}, bound{E::kInt8}, synced{E::kInt8};
  for (const auto& [key, ptr] :
       LastByKey<WorkKey, WorkPtr>(works, [](const WorkPtr& one) { return KeyOf(*one); })) {
    const Work& work = **ptr;
    ns.Text(work.ns);
    placement.Text(work.placement);
    cluster.Text(work.cluster);
    state.Int2(static_cast<std::int16_t>(work.state));
    revision.Int4(work.snapshot);
    policy.Text(work.policy);
    rendered.Text(work.rendered);
    error.Text(work.override_error);
    affinity.Int4(work.affinity_score);
    spread.Int4(work.spread_score);
    abandon.Bool(work.abandon);
    waits.Text(work.waits);
    overrides.Text(NamesText(work.overrides));
    manifests.Text(ManifestsText(work.manifests));
    scheduled.Time(work.scheduled_at);
    bound.Time(work.bound_at);
    synced.Time(work.synced_at);
  }
  connection.Queue(sql::kPutWorks.name, ArraysOf(ns, placement, cluster, state, revision, policy,
                                                 rendered, error, affinity, spread, abandon, waits,
                                                 overrides, manifests, scheduled, bound, synced));
}

void QueueSnapshots(const std::vector<SnapshotPtr>& snapshots, PqConnection& connection) {
  Column ns{E::kText}, placement{E::kText}, revision{E::kInt4}, hash{E::kText}, created{E::kInt8},
      resources{E::kJson};
  for (const auto& [key, ptr] : LastByKey<SnapshotKey, SnapshotPtr>(
           snapshots, [](const SnapshotPtr& one) { return KeyOf(*one); })) {
    const ResourceSnapshot& one = **ptr;
    ns.Text(one.ns);
    placement.Text(one.placement);
    revision.Int4(one.index);
    hash.Text(one.hash);
    created.Time(one.created_at);
    resources.Text(ResourcesText(one.resources));
  }
  connection.Queue(sql::kPutSnapshots.name,
                   ArraysOf(ns, placement, revision, hash, created, resources));
}

// Deletions come first: a key that is both ended and written in one commit exists afterwards.
void QueuePropagation(const PlanCommit& commit, PqConnection& connection) {
  if (!commit.ended_works.empty()) {
    Column ns{E::kText}, placement{E::kText}, cluster{E::kText};
    for (const auto& [of_ns, of_placement, of_cluster] : commit.ended_works) {
      ns.Text(of_ns);
      placement.Text(of_placement);
      cluster.Text(of_cluster);
    }
    connection.Queue(sql::kDropWorks.name, ArraysOf(ns, placement, cluster));
  }
  if (!commit.ended_snapshots.empty()) {
    Column ns{E::kText}, placement{E::kText}, revision{E::kInt4};
    for (const auto& [of_ns, of_placement, index] : commit.ended_snapshots) {
      ns.Text(of_ns);
      placement.Text(of_placement);
      revision.Int4(index);
    }
    connection.Queue(sql::kDropSnapshots.name, ArraysOf(ns, placement, revision));
  }
  if (!commit.works.empty()) QueueWorks(commit.works, connection);
  if (!commit.snapshots.empty()) QueueSnapshots(commit.snapshots, connection);
}

// What a job was submitted with is part of the immutable row in table jobs; a change of it is rare:
// an update, a measurement of requests, or the last waiting task of an array, which takes the
// array's record.
void QueueRespecified(const std::vector<JobPtr>& jobs, PqConnection& connection) {
  Column id{E::kInt8}, pod_sets{E::kJson}, batch{E::kJson}, time_limit{E::kInt8},
      display_name{E::kText}, local_queue{E::kText}, priority_class{E::kText}, placement{E::kJson},
      array_task{E::kInt4};
  for (const auto& [job_id, ptr] :
       LastByKey<JobId, JobPtr>(jobs, [](const JobPtr& one) { return one->id; })) {
    const JobRecord& job = **ptr;
    id.Int8(job_id.value);
    pod_sets.Text(PodSetsText(*job.pod_sets));
    batch.OptionalText(job.batch == nullptr ? "" : BatchText(*job.batch));
    time_limit.Int8(job.time_limit_s);
    display_name.OptionalText(job.display_name == job.name ? "" : job.display_name);
    local_queue.Text(job.local_queue);
    priority_class.Text(job.priority_class);
    placement.OptionalText(job.placement == nullptr ? "" : JobPlacementText(*job.placement));
    if (job.batch != nullptr && job.batch->array_job_id.value != 0) {
      array_task.Int4(job.batch->array_task_id);
    } else {
      array_task.Null();
    }
  }
  connection.Queue(sql::kRespecifyJobs.name,
                   ArraysOf(id, pod_sets, batch, time_limit, display_name, local_queue,
                            priority_class, placement, array_task));
}

}  // namespace

// A table without changes costs no statement.
void QueueCommit(const PlanCommit& commit, PqConnection& connection) {
  if (!commit.new_jobs.empty()) QueueNewTasks(commit.new_jobs, connection);
  if (!commit.jobs.empty()) QueueJobs(commit.jobs, connection);
  if (!commit.respecified.empty()) QueueRespecified(commit.respecified, connection);
  if (!commit.deleted_jobs.empty()) QueueDeletions(commit.deleted_jobs, connection);
  if (!commit.usage.empty()) QueueUsage(commit.usage, connection);
  if (!commit.attempts.empty()) QueueAttempts(commit.attempts, connection);
  if (!commit.steps.empty()) QueueSteps(commit.steps, connection);
  if (!commit.attempts.empty()) QueueClosedSteps(commit.attempts, connection);
  if (!commit.dispatches.empty()) QueueDispatches(commit.dispatches, connection);
  if (!commit.objects.empty()) {
    for (const shapes::KindInfo* kind : shapes::Kinds())
      QueueObjects(*kind, commit.objects, connection);
  }
  if (!commit.events.empty()) QueueEvents(commit.events, connection);
  if (!commit.fair_use.empty()) QueueFairUse(commit.fair_use, connection);
  if (!commit.set_aside.empty()) QueueSetAside(commit.set_aside, connection);
  QueuePropagation(commit, connection);
  if (commit.forget_keys_before.set()) {
    connection.Queue(sql::kForgetKeys.name,
                     Params()
                         .Int8(commit.forget_keys_before.us)
                         .Int8(static_cast<std::int64_t>(limits::kForgottenKeys)));
  }
  if (commit.forget_audit_before.set()) {
    connection.Queue(sql::kForgetAudit.name,
                     Params()
                         .Int8(commit.forget_audit_before.us)
                         .Int8(static_cast<std::int64_t>(limits::kForgottenAuditRows)));
  }
}

}  // namespace muster::pg
