// MemoryStore: the Store's semantics without a database, for tests of the engine and for
// simulation.
//
// Deterministic: no thread, no clock, no randomness. A write is carried out and answered inside the
// call or, in manual mode, when DrainOne() is called, one write at a time in call order. Tests can
// make coming writes fail. The contract suite in tests/contract/store runs against this store and
// against PostgreSQL. Thread-safe.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "schedd/base/mutex.h"
#include "schedd/model/audit_chain.h"
#include "schedd/store/store.h"

namespace muster {

/// A failure of one write (an Accept or a Commit as a whole).
enum class StoreFault {
  kUnavailable,        // not written, answered kUnavailable
  kUnknownApplied,     // written, but answered kUnknown
  kUnknownNotApplied,  // not written, answered kUnknown
  kRefused,            // not written, answered kFailedPrecondition like a broken constraint
};

/// A write whose answer is lost: the store then finds out whether it was written, as the store on
/// PostgreSQL does.
struct LostAnswer {
  bool written = false;
  /// Runs after the write and before the store looks for its outcome; may call the store, as
  /// another leader would.
  std::function<void()> meanwhile;
};

struct MemoryStoreOptions {
  bool manual = false;  // writes wait for DrainOne()
  std::string instance_id = "00000000-0000-4000-8000-000000000001";
};

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(MemoryStoreOptions options = {});

  // --- control, for tests ---
  /// Makes the n-th write from now fail with `fault` (1: the next write).
  void InjectFault(std::size_t nth, StoreFault fault);
  /// Loses the answer to the n-th write from now.
  void LoseAnswer(std::size_t nth, LostAnswer how);
  /// While the database is away, every write and read fails with kUnavailable.
  void SetAway(bool away);
  /// While set, every read fails with kUnavailable; the leader writes on.
  void FailReads(bool fail);
  /// While set, another daemon leads: Lead fails with kUnavailable.
  void RefuseLead(bool refuse);
  /// Runs on the reader's thread before each Load; may block it.
  void BeforeLoad(std::function<void()> hook);
  /// Ends the leadership as a lost session would: writes fail with kAborted until Lead.
  void LoseLead();
  /// From now on Load says that the database was made from a backup.
  void MarkRestored(const RestoreMark& mark);
  /// From now on Load says that a history is lost which may have given these numbers out.
  void MarkLost(const LostNumbers& lost);
  /// Manual mode: carries out and answers the oldest waiting write; false if none waits.
  bool DrainOne();
  std::size_t waiting() const;
  std::size_t accepted_jobs() const;

  // --- Store ---
  Result<Lease> Lead(const std::string& holder, std::chrono::milliseconds wait) override;
  Result<StoredWorld> Load(Epoch epoch, WallTime finished_since) override;
  using Store::Accept;
  using Store::ReadAudit;
  void Accept(Epoch epoch, std::vector<NewJob> batch, std::vector<AuditRow> audit,
              Callback<std::vector<Result<AcceptedJob>>> done) override;
  void Commit(Epoch epoch, PlanCommit commit, Callback<CommitVersion> done) override;
  Result<std::vector<std::string>> ReadManifests(const std::vector<JobId>& ids) override;
  Result<std::vector<ArrayEnds>> ReadArrayEnds(const std::vector<JobId>& arrays) override;
  Result<std::vector<JobPtr>> ReadJobs(const JobQuery& query) override;
  Result<JobPtr> ReadJob(JobId id) override;
  Result<JobId> FindJob(const std::string& ns, ShapeKind shape, const std::string& name) override;
  Result<JobId> FindJob(Uid uid) override;
  Result<std::vector<Event>> ReadEvents(std::int64_t since, JobId job, std::size_t limit) override;
  Result<std::vector<AttemptRecord>> ReadAttempts(const std::vector<JobId>& ids) override;
  Result<std::vector<StepRecord>> ReadSteps(const StepQuery& query) override;
  Result<std::vector<AuditRow>> ReadAudit(const AuditQuery& query) override;
  Result<AuditAnchor> ReadAuditAnchor() override;
  Result<std::vector<ObjectPtr>> ReadObjects(ObjectKind kind) override;
  Result<std::string> InstanceId() override;
  Status Ping() override;

 private:
  struct StoredJob {
    JobPtr record;
    std::string manifest;
    bool deleted = false;
  };
  struct StoredKey {
    std::uint64_t fingerprint = 0;
    JobId job;
  };
  using NameKey = std::tuple<std::string, ShapeKind, std::string>;
  using ObjectId = std::tuple<ObjectKind, std::string, std::string>;
  using UsageKey = std::tuple<std::string, std::string, std::string>;
  using DispatchId = std::pair<Uid, std::int32_t>;
  using StepKey = std::tuple<JobId, std::int32_t, std::int32_t>;
  /// Everything that would be durable in a database.
  struct Tables {
    std::map<JobId, StoredJob> jobs;
    std::map<NameKey, JobId> live_names;
    std::map<Uid, JobId> uids;
    std::map<std::int64_t, JobId> accept_seqs;
    std::map<std::pair<std::string, std::string>, StoredKey> keys;
    std::map<ObjectId, ObjectPtr> objects;
    std::map<UsageKey, std::int64_t> usage;
    std::map<DispatchId, DispatchRow> dispatches;
    std::map<std::pair<JobId, std::int32_t>, AttemptRecord> attempts;
    std::map<StepKey, StepRecord> steps;
    std::map<std::int64_t, Event> events;
    std::map<std::pair<std::string, std::string>, FairUseRow> fair_use;
    std::map<std::pair<std::string, std::string>, SetAsideObject> set_aside;
    std::map<WorkKey, WorkPtr> works;
    std::map<SnapshotKey, SnapshotPtr> snapshots;
    std::deque<AuditRow> audit;  // linked, the oldest first
    AuditHead audit_head;
    AuditAnchor audit_anchor = {0, AuditGenesis()};
  };
  /// Undoes the changes made so far by one commit, newest first.
  using UndoLog = std::vector<std::function<void()>>;

  /// Carries the write out now or, in manual mode, queues it for DrainOne.
  void Carry(std::function<void()> write);
  /// Ends the leadership if `epoch` still leads.
  void EndLead(Epoch epoch);
  /// Carries one write out under the lock: runs `write` unless the lead is gone or a fault was
  /// injected. `find` is as for Resolve.
  template <class T>
  Result<T> Write(Epoch epoch, const std::function<Result<T>()>& write,
                  const std::function<Result<T>(bool last)>& find);
  /// Finds the outcome of a write whose answer is lost. `find` judges by the rows that are stored
  /// and by whether this write was the last one of its epoch.
  template <class T>
  Result<T> Resolve(const LostAnswer& how, Epoch epoch, const std::function<Result<T>()>& write,
                    const std::function<Result<T>(bool last)>& find) MUSTER_REQUIRES(mutex_);
  /// Starts the next epoch and records the last write of the epoch that ends.
  void EndEpoch() MUSTER_REQUIRES(mutex_);
  Result<AcceptedJob> AcceptOne(const NewJob& job) MUSTER_REQUIRES(mutex_);
  /// The answer to a job whose idempotency key was used before; nothing if it was not.
  std::optional<Result<AcceptedJob>> HeldKey(const NewJob& job) const MUSTER_REQUIRES(mutex_);
  Result<std::vector<Result<AcceptedJob>>> FindAccepted(const std::vector<NewJob>& jobs, bool last)
      MUSTER_REQUIRES(mutex_);
  Result<CommitVersion> CommitAll(const PlanCommit& commit) MUSTER_REQUIRES(mutex_);
  Status Apply(const PlanCommit& commit, UndoLog* undo) MUSTER_REQUIRES(mutex_);
  Status ApplyNewJobs(const PlanCommit& commit, UndoLog* undo) MUSTER_REQUIRES(mutex_);
  Status ApplyJobs(const PlanCommit& commit, UndoLog* undo) MUSTER_REQUIRES(mutex_);
  Status ApplyAttempts(const PlanCommit& commit, UndoLog* undo) MUSTER_REQUIRES(mutex_);
  Status ApplySteps(const PlanCommit& commit, UndoLog* undo) MUSTER_REQUIRES(mutex_);
  void PutStep(const StepKey& key, StepRecord step, UndoLog* undo) MUSTER_REQUIRES(mutex_);
  /// Closes the steps that attempts of this commit have left open at their end.
  void CloseSteps(const PlanCommit& commit, UndoLog* undo) MUSTER_REQUIRES(mutex_);
  Status ApplyDispatches(const PlanCommit& commit, UndoLog* undo) MUSTER_REQUIRES(mutex_);
  Status PutDispatch(const DispatchRow& row, UndoLog* undo) MUSTER_REQUIRES(mutex_);
  void ApplyObjects(const PlanCommit& commit, UndoLog* undo) MUSTER_REQUIRES(mutex_);
  Status ApplyEvents(const PlanCommit& commit, UndoLog* undo) MUSTER_REQUIRES(mutex_);
  void ForgetKeys(WallTime before, UndoLog* undo) MUSTER_REQUIRES(mutex_);
  /// Links and appends rows of the audit trail. No refusal may follow in the same commit.
  void AppendAudit(const std::vector<AuditRow>& rows) MUSTER_REQUIRES(mutex_);
  void ForgetAudit(WallTime before) MUSTER_REQUIRES(mutex_);
  Status CheckReadable() const MUSTER_REQUIRES(mutex_);
  std::vector<ArrayEnds> EndsOf(const std::set<JobId>& arrays) const MUSTER_REQUIRES(mutex_);

  const MemoryStoreOptions options_;
  mutable Mutex mutex_;
  Tables tables_ MUSTER_GUARDED_BY(mutex_);
  Epoch epoch_ MUSTER_GUARDED_BY(mutex_);
  bool leading_ MUSTER_GUARDED_BY(mutex_) = false;
  bool away_ MUSTER_GUARDED_BY(mutex_) = false;
  std::optional<RestoreMark> restore_ MUSTER_GUARDED_BY(mutex_);
  std::vector<LostNumbers> lost_numbers_ MUSTER_GUARDED_BY(mutex_);
  bool reads_fail_ MUSTER_GUARDED_BY(mutex_) = false;
  bool refuses_lead_ MUSTER_GUARDED_BY(mutex_) = false;
  std::function<void()> before_load_ MUSTER_GUARDED_BY(mutex_);
  std::int64_t last_seq_ MUSTER_GUARDED_BY(mutex_) = 0;
  // By the number of the write.
  std::map<std::size_t, StoreFault> faults_ MUSTER_GUARDED_BY(mutex_);
  std::map<std::size_t, LostAnswer> lost_ MUSTER_GUARDED_BY(mutex_);  // by the number of the write
  std::size_t last_write_ MUSTER_GUARDED_BY(mutex_) = 0;  // number of the last successful write
  // Last successful write before each epoch ended.
  std::map<Epoch, std::size_t> ended_ MUSTER_GUARDED_BY(mutex_);
  std::size_t writes_ MUSTER_GUARDED_BY(mutex_) = 0;  // numbers the writes from 1
  // Manual mode, the oldest first.
  std::deque<std::function<void()>> waiting_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster
