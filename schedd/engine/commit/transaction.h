// Transaction: everything that was decided since the last commit left: the rows of the next commit,
// what becomes visible with it, and the orders, answers and wakes that happen once it is durable.
//
// Rows are kept by key, so a job that changes twice costs one row. A plain value of the engine
// thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "schedd/core/quota/quota_tree.h"
#include "schedd/dispatch/step/step.h"
#include "schedd/engine/context/queue_names.h"
#include "schedd/store/store.h"
#include "schedd/world/world_view.h"

namespace muster {

/// An order to the dispatcher, sent once the rows of its transaction are durable.
struct Order {
  dispatch::Action action = dispatch::Action::kNone;
  DispatchKey key;
  JobPtr job = nullptr;
  std::string remote_uid = {};
  RemoteObject object = {};
};

/// Called once on the engine thread: with null after the commit and the publication, or with the
/// error if the transaction was lost.
using Waiter = std::function<void(const Error* error)>;

/// A (ClusterQueue, flavor, resource) triple whose amount changed.
using UsagePair = std::tuple<std::string, std::string, std::string>;

/// Job, attempt, step.
using StepKey = std::tuple<JobId, std::int32_t, std::int32_t>;

struct Transaction {
  std::map<JobId, JobPtr> jobs;
  std::map<JobId, JobPtr> new_jobs;  // those of `jobs` that begin with it, as they waited
  std::vector<JobId> deleted_jobs;
  std::set<UsagePair> usage;
  std::map<DispatchKey, DispatchRow> dispatches;
  std::map<std::pair<JobId, std::int32_t>, AttemptRecord> attempts;
  std::map<StepKey, StepRecord> steps;
  std::map<ObjectKey, ObjectWrite> objects;
  std::vector<Event> events;
  std::vector<Event> news;  // events that have no row of their own: acceptances
  std::vector<AuditRow> audit;
  std::map<std::pair<std::string, std::string>, FairUseRow> fair_use;
  std::map<std::pair<std::string, std::string>, SetAsideWrite> set_aside;
  std::map<WorkKey, WorkPtr> works;              // null: it ends
  std::map<SnapshotKey, SnapshotPtr> snapshots;  // null: it ends
  std::set<JobId> respecified;                   // of `jobs`: their row of jobs is written too
  WallTime forget_keys_before;                   // set: older idempotency keys go
  WallTime forget_audit_before;                  // set: older audit rows go

  // Becomes visible with the commit.
  ConfigPtr config;           // null: unchanged
  bool other_quotas = false;  // of `config`: what jobs hold is counted anew
  std::shared_ptr<const ObjectTable> object_table;
  std::shared_ptr<const WorkTable> work_table;  // null: unchanged

  // Happens after the commit.
  std::vector<Order> orders;
  std::vector<Waiter> waiters;
  std::vector<JobId> to_queue;  // jobs that wait again
  QueueNames wakes;             // whose waiting jobs the change may help

  /// True if there are no rows to write.
  bool Empty() const;
  /// Takes a step of a report. A row that has an end stays as it is, so that what a member repeats
  /// changes nothing (rule B53).
  void PutStep(StepRecord step);
  /// Marks the (flavor, resource) pairs of an admission as changed.
  void Touch(const Admission& admission);
  /// The rows for the store; those of the audit trail, which nobody else needs, go with them.
  /// `planned`: the usage of the live world, from which the amounts of the touched pairs are read.
  PlanCommit MakeCommit(const core::Usage& planned);
};

}  // namespace muster
