// Store: PostgreSQL as the engine sees it. One writer, fenced by its epoch; readers beside it.
//
// Thread-safe. Accept and Commit are taken in call order by one writer that groups what has arrived
// into one transaction (group commit); `done` runs on the writer's thread, after the commit, in
// call order, and must only post. Every mutating call fails with kAborted if the epoch is not the
// leader's, with kUnavailable if the database is away (nothing was written) and with kUnknown if it
// went away during COMMIT. A transaction that fails as a group is tried again item by item, so one
// bad item harms no other.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schedd/base/ids.h"
#include "schedd/base/result.h"
#include "schedd/model/dispatch.h"
#include "schedd/model/event.h"
#include "schedd/model/job.h"
#include "schedd/model/queues.h"
#include "schedd/model/set_aside.h"
#include "schedd/model/work.h"

namespace muster {

struct Lease {
  Epoch epoch;
};

/// A client's retry token: the same (scope, key) gives the same job until it is forgotten.
struct IdempotencyKey {
  std::string scope;  // user and namespace
  std::string key;
  std::uint64_t fingerprint = 0;  // of the request; another request under the same key is refused
};

/// A job to be made durable. Identity, ids and event numbers are already assigned by the engine.
struct NewJob {
  JobPtr record;
  std::string manifest;  // JSON text
  std::optional<IdempotencyKey> idempotency;
};

/// The answer to one NewJob.
struct Accepted {
  JobId id;               // of the job that now exists under the key: the new one, or the first one
  bool replayed = false;  // an earlier request with the same key made it; nothing was written
};

struct UsageRow {
  std::string cluster_queue, flavor, resource;
  std::int64_t amount = 0;
};

/// What a LocalQueue has used lately (admission fair sharing; core::FairLedger::History).
struct FairUseRow {
  std::string ns, local_queue;
  ResourceList consumed;  // in thousandths of the base unit
  WallTime updated;
  bool remove = false;  // the queue is gone
};

struct ObjectWrite {
  ObjectPtr object;
  bool remove = false;
};

struct AuditRow {
  WallTime time;
  std::string user, method, verb, object, detail;
};

struct SetAsideWrite {
  SetAsideObject object;
  bool remove = false;  // it is gone from its member
};

/// Everything one step of the engine changes, in one transaction.
struct PlanCommit {
  std::vector<JobPtr> jobs;             // state rows, whole
  std::vector<JobId> deleted_jobs;      // their objects end (deleted_at); history stays
  std::vector<UsageRow> usage;          // absolute amounts of the pairs that changed
  std::vector<DispatchRow> dispatches;  // upserted by key
  std::vector<AttemptRecord>
      attempts;  // upserted by (job, attempt); end_time set: closed for accounting
  std::vector<ObjectWrite> objects;
  std::vector<Event> events;
  std::vector<AuditRow> audit;
  std::vector<FairUseRow> fair_use;      // upserted by queue
  std::vector<SetAsideWrite> set_aside;  // upserted by (cluster, remote_uid)
  std::vector<WorkPtr> works;            // upserted by KeyOf
  std::vector<WorkKey> ended_works;
  std::vector<SnapshotPtr> snapshots;  // never change; ended ones go
  std::vector<SnapshotKey> ended_snapshots;
  std::vector<JobPtr> respecified;  // those of `jobs` whose pod sets are not those of acceptance
  /// Set: idempotency keys whose jobs were submitted before it are forgotten, the oldest first, at
  /// most limits::kForgottenKeys of them; their jobs stay.
  WallTime forget_keys_before;
};

struct CommitVersion {
  std::int64_t last_seq = 0;
};

/// What recovery starts from: one consistent read.
struct Loaded {
  std::vector<JobPtr> jobs;  // not terminal, plus terminal ones younger than the kept window
  std::vector<ObjectPtr> objects;
  std::vector<UsageRow> usage;
  std::vector<DispatchRow> dispatches;  // not Gone
  std::vector<FairUseRow> fair_use;
  std::vector<SetAsideObject> set_aside;
  std::vector<WorkPtr> works;
  std::vector<SnapshotPtr> snapshots;
  JobId last_job_id;
  std::int64_t last_seq = 0;
};

struct JobQuery {
  std::string ns, queue, user;  // "" = any
  std::string name;             // "" = any; an object's, or the one that a batch script was given
  std::optional<JobState> state;
  std::optional<ShapeKind> shape;
  bool include_deleted = false;
  JobId after;  // exclusive
  std::size_t limit = 1000;
  WallTime ended_since;  // unset: any
};

class Store {
 public:
  virtual ~Store() = default;

  /// Takes leadership: waits up to `wait` for another holder's session to end, then starts a new
  /// epoch.
  virtual Result<Lease> Lead(const std::string& holder, std::chrono::milliseconds wait) = 0;
  virtual Result<Loaded> Load(Epoch epoch, WallTime finished_since) = 0;
  /// Per item: Accepted, or kAlreadyExists for a taken name, or kInvalidArgument for a key used by
  /// another request.
  virtual void Accept(Epoch epoch, std::vector<NewJob> batch,
                      Callback<std::vector<Result<Accepted>>> done) = 0;
  virtual void Commit(Epoch epoch, PlanCommit commit, Callback<CommitVersion> done) = 0;

  // Reads: blocking, from any thread, on connections of their own.
  virtual Result<std::vector<std::string>> ReadManifests(
      const std::vector<JobId>& ids) = 0;                                   // in order
  virtual Result<std::vector<JobPtr>> ReadJobs(const JobQuery& query) = 0;  // by id
  virtual Result<JobPtr> ReadJob(JobId id) = 0;
  virtual Result<JobId> FindJob(const std::string& ns, ShapeKind shape,
                                const std::string& name) = 0;  // not deleted
  virtual Result<JobId> FindJob(Uid uid) = 0;
  virtual Result<std::vector<Event>> ReadEvents(std::int64_t since, JobId job,
                                                std::size_t limit) = 0;  // job 0: all
  virtual Result<std::vector<AttemptRecord>> ReadAttempts(const std::vector<JobId>& ids) = 0;
  virtual Result<std::vector<AuditRow>> ReadAudit(std::size_t limit) = 0;
  /// UUID of this installation, made by the first migration; stamped on objects that members hold.
  virtual Result<std::string> InstanceId() = 0;
  /// A round trip to the database.
  virtual Status Ping() = 0;
};

}  // namespace muster
