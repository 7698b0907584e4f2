// Store: the interface of the database as the engine sees it. One writer, fenced by the epoch of
// its leadership; any number of readers beside it.
//
// Thread-safe. One writer thread takes the calls of Accept and Commit in call order and groups the
// calls that have arrived into one transaction (group commit). It runs each `done` after the
// commit, in call order; a `done` must only post a message and return.
//
// Every mutating call fails with kAborted if its epoch is not the leader's, with kUnavailable if
// the database cannot be reached (nothing was written), and with kUnknown if the connection was
// lost during COMMIT and the outcome could not be found out. A group that fails is written again in
// halves until the item at fault stands alone, so one bad item harms no other.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schedd/base/ids.h"
#include "schedd/base/result.h"
#include "schedd/model/audit.h"
#include "schedd/model/dispatch.h"
#include "schedd/model/event.h"
#include "schedd/model/job.h"
#include "schedd/model/queues.h"
#include "schedd/model/restore_mark.h"
#include "schedd/model/set_aside.h"
#include "schedd/model/work.h"
#include "schedd/store/store_queries.h"

namespace muster {

/// Leadership of the database, which lasts until another daemon takes it, which it may do when the
/// lease (schedd/base/lease.h) is over, or until the writer's session ends.
struct Lease {
  Epoch epoch;
};

/// A client's retry token: a repeated (scope, key) gives the same job until the key is forgotten
/// (PlanCommit::forget_keys_before).
struct IdempotencyKey {
  std::string scope;  // user and namespace
  std::string key;
  /// Of the request. Another request under the same key is refused.
  std::uint64_t fingerprint = 0;
};

/// A job to be made durable. The engine has assigned its id, its uid and its event number.
struct NewJob {
  JobPtr record;
  std::string manifest;  // JSON text
  std::optional<IdempotencyKey> idempotency;
};

/// The answer to one NewJob.
struct AcceptedJob {
  /// The new job, or the earlier job that holds the same idempotency key.
  JobId id;
  /// An earlier request with the same key made the job; this request wrote nothing.
  bool replayed = false;
};

/// Quota that admitted jobs of one ClusterQueue use of one resource in one flavor.
struct UsageRow {
  std::string cluster_queue, flavor, resource;
  std::int64_t amount = 0;
};

/// The recent consumption of a LocalQueue (admission fair sharing; core::FairLedger::History).
struct FairUseRow {
  std::string ns, local_queue;
  ResourceList consumed;  // in thousandths of the base unit
  WallTime updated;
  bool remove = false;  // the queue is gone
};

/// A configuration object to be stored or, with `remove`, to be deleted.
struct ObjectWrite {
  ObjectPtr object;
  bool remove = false;
};

/// An object on a member cluster that Muster leaves alone.
struct SetAsideWrite {
  SetAsideObject object;
  bool remove = false;  // the object is gone from its member cluster
};

/// How the ended tasks of one array ended.
struct ArrayEnds {
  JobId array;
  std::int64_t ok = 0;
  std::int64_t failed = 0;  // also those that were cancelled
};

/// Everything that one step of the engine changes, written in one transaction.
struct PlanCommit {
  /// Jobs that begin with this commit, as they waited: tasks of arrays. They have no manifest of
  /// their own; theirs is that of job batch->array_job_id. `jobs` has each of them too, as it is
  /// at the end of the commit.
  std::vector<JobPtr> new_jobs;
  /// The whole state row of each job.
  std::vector<JobPtr> jobs;
  /// Jobs whose API objects end (deleted_at). Their history stays.
  std::vector<JobId> deleted_jobs;
  /// Absolute amounts of the (ClusterQueue, flavor, resource) triples that changed.
  std::vector<UsageRow> usage;
  /// Upserted by (job uid, attempt).
  std::vector<DispatchRow> dispatches;
  // Upserted by (job, attempt). A row with an end_time is closed: later writes do not change it.
  // Steps of such an attempt that have no end_time then get it, as cancelled (rule B53).
  std::vector<AttemptRecord> attempts;
  /// Upserted by (job, attempt, step). A row with an end_time is closed, like that of an attempt;
  /// of several rows of one step the first closed one counts, else the last one.
  std::vector<StepRecord> steps;
  std::vector<ObjectWrite> objects;
  std::vector<Event> events;
  std::vector<AuditRow> audit;
  /// Upserted by (namespace, LocalQueue).
  std::vector<FairUseRow> fair_use;
  /// Upserted by (cluster, remote_uid).
  std::vector<SetAsideWrite> set_aside;
  /// Upserted by KeyOf; ended_works are deleted.
  std::vector<WorkPtr> works;
  std::vector<WorkKey> ended_works;
  /// Snapshots never change; ended_snapshots are deleted.
  std::vector<SnapshotPtr> snapshots;
  std::vector<SnapshotKey> ended_snapshots;
  /// Those jobs of `jobs` whose pod sets or batch details differ from those at acceptance.
  std::vector<JobPtr> respecified;
  /// If set, the idempotency keys of jobs that were submitted before this time are forgotten, the
  /// oldest first and at most limits::kForgottenKeys of them. The jobs stay.
  WallTime forget_keys_before;
  /// If set, rows of the audit trail whose whole day (UTC) was before this time are removed, the
  /// oldest first and at most limits::kForgottenAuditRows of them; never those of the last day.
  WallTime forget_audit_before;
};

/// The answer to one PlanCommit: the highest event number that is durable.
struct CommitVersion {
  std::int64_t last_seq = 0;
};

/// Everything that recovery starts from: one consistent read of the database.
struct StoredWorld {
  /// Jobs that are not terminal, and terminal jobs that ended within the kept window.
  std::vector<JobPtr> jobs;
  std::vector<ObjectPtr> objects;
  std::vector<UsageRow> usage;
  std::vector<DispatchRow> dispatches;  // all that are not Gone
  std::vector<FairUseRow> fair_use;
  std::vector<SetAsideObject> set_aside;
  std::vector<WorkPtr> works;
  std::vector<SnapshotPtr> snapshots;
  /// Of the arrays that have a job among those that are not terminal; none if no task has ended.
  std::vector<ArrayEnds> array_ends;
  JobId last_job_id;
  std::int64_t last_seq = 0;
  /// Of the last time that the database was made from a backup; none if it never was.
  std::optional<RestoreMark> restore;
  /// Of all histories that a restore or the loss of a database server has ended, in no order.
  std::vector<LostNumbers> lost_numbers;
};

class Store {
 public:
  virtual ~Store() = default;

  /// Takes the lease if it is free, and starts a new epoch; `wait`: for a former leader's last
  /// transaction. kUnavailable, with the holder's name, if another daemon leads.
  virtual Result<Lease> Lead(const std::string& holder, std::chrono::milliseconds wait) = 0;
  /// Reads everything that recovery needs; `epoch` 0: for a copy, whoever leads. Terminal jobs that
  /// ended before `finished_since` are left out. kAborted if `epoch` no longer leads.
  virtual Result<StoredWorld> Load(Epoch epoch, WallTime finished_since) = 0;
  /// Answers each job on its own: AcceptedJob, kAlreadyExists for a taken name, or kInvalidArgument
  /// for a key that another request used. `audit` has a row for each request of the batch. The rows
  /// are written in the transaction of the jobs, whatever becomes of single jobs; if a bad item has
  /// the batch written in parts, no job is written before the rows are, or without them.
  virtual void Accept(Epoch epoch, std::vector<NewJob> batch, std::vector<AuditRow> audit,
                      Callback<std::vector<Result<AcceptedJob>>> done) = 0;
  /// The same for jobs that nobody asked for: tests.
  void Accept(Epoch epoch, std::vector<NewJob> batch,
              Callback<std::vector<Result<AcceptedJob>>> done) {
    Accept(epoch, std::move(batch), {}, std::move(done));
  }
  /// Writes one PlanCommit. After a failed one, every later write of the same epoch fails with
  /// kAborted until Lead: a later commit may depend on what the failed one gives back.
  virtual void Commit(Epoch epoch, PlanCommit commit, Callback<CommitVersion> done) = 0;

  // Reads. They block, may be called from any thread and use connections of their own.

  /// The manifests in the order of `ids`; kNotFound if one of the jobs does not exist.
  virtual Result<std::vector<std::string>> ReadManifests(const std::vector<JobId>& ids) = 0;
  /// One for each array of which a task has ended, in the order of the arrays.
  virtual Result<std::vector<ArrayEnds>> ReadArrayEnds(const std::vector<JobId>& arrays) = 0;
  /// In the order of the ids.
  virtual Result<std::vector<JobPtr>> ReadJobs(const JobQuery& query) = 0;
  virtual Result<JobPtr> ReadJob(JobId id) = 0;
  /// The job that is not deleted and has this name.
  virtual Result<JobId> FindJob(const std::string& ns, ShapeKind shape,
                                const std::string& name) = 0;
  virtual Result<JobId> FindJob(Uid uid) = 0;
  /// Events with a number above `since`, of one job or, with job 0, of all.
  virtual Result<std::vector<Event>> ReadEvents(std::int64_t since, JobId job,
                                                std::size_t limit) = 0;
  virtual Result<std::vector<AttemptRecord>> ReadAttempts(const std::vector<JobId>& ids) = 0;
  /// The steps of all attempts of these jobs. Ids without a job, and repeated ones, count nothing.
  virtual Result<std::vector<StepRecord>> ReadSteps(const StepQuery& query) = 0;
  /// In the order of their numbers, with numbers and hashes.
  virtual Result<std::vector<AuditRow>> ReadAudit(const AuditQuery& query) = 0;
  /// The newest rows first.
  Result<std::vector<AuditRow>> ReadAudit(std::size_t limit) {
    AuditQuery query;
    query.last = true;
    query.limit = limit;
    Result<std::vector<AuditRow>> rows = ReadAudit(query);
    if (rows.ok()) std::reverse(rows->begin(), rows->end());
    return rows;
  }
  /// Where the chain of the rows that are still there begins.
  virtual Result<AuditAnchor> ReadAuditAnchor() = 0;
  /// All configuration objects of a kind, by namespace and name; needs no lead.
  virtual Result<std::vector<ObjectPtr>> ReadObjects(ObjectKind kind) = 0;
  /// The UUID of this installation, which the first migration makes. Objects on member clusters
  /// carry it.
  virtual Result<std::string> InstanceId() = 0;
  /// A round trip to the database.
  virtual Status Ping() = 0;
};

}  // namespace muster
