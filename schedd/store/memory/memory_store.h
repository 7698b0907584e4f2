// MemoryStore: the Store's semantics without a database, for tests of the engine and for
// simulation.
//
// Deterministic: no thread, no clock, no randomness. Calls are answered inside the call, or, in
// manual mode, one at a time by DrainOne() in call order. Faults can be laid on coming writes. The
// same contract suite runs against this and PostgreSQL (tests/contract/store). Thread-safe.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "schedd/store/store.h"

namespace muster {

/// What happens to one write (an Accept or a Commit as a whole).
enum class StoreFault {
  kUnavailable,        // nothing written, kUnavailable
  kUnknownApplied,     // written, but answered kUnknown
  kUnknownNotApplied,  // not written, answered kUnknown
  kRefused,            // not written, kFailedPrecondition, as a broken constraint answers
};

/// A write whose answer is lost; what became of it is then asked for, as PostgreSQL's store does.
struct LostAnswer {
  bool written = false;
  /// Runs after the write and before it is asked for; may call the store, as another leader would.
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
  /// Lets `fault` happen to the n-th write from now that is carried out (1: the next one).
  void InjectFault(std::size_t nth, StoreFault fault);
  /// Loses the answer to the n-th write from now that is carried out.
  void LoseAnswer(std::size_t nth, LostAnswer how);
  /// While away, every write and read fails with kUnavailable.
  void SetAway(bool away);
  /// Ends the lead as a lost session would: writes fail with kAborted until Lead.
  void LoseLead();
  /// Manual mode: carries out and answers the oldest waiting write; false if there is none.
  bool DrainOne();
  std::size_t waiting() const;
  std::size_t accepted_jobs() const;

  // --- Store ---
  Result<Lease> Lead(const std::string& holder, std::chrono::milliseconds wait) override;
  Result<Loaded> Load(Epoch epoch, WallTime finished_since) override;
  void Accept(Epoch epoch, std::vector<NewJob> batch,
              Callback<std::vector<Result<Accepted>>> done) override;
  void Commit(Epoch epoch, PlanCommit commit, Callback<CommitVersion> done) override;
  Result<std::vector<std::string>> ReadManifests(const std::vector<JobId>& ids) override;
  Result<std::vector<JobPtr>> ReadJobs(const JobQuery& query) override;
  Result<JobPtr> ReadJob(JobId id) override;
  Result<JobId> FindJob(const std::string& ns, ShapeKind shape, const std::string& name) override;
  Result<JobId> FindJob(Uid uid) override;
  Result<std::vector<Event>> ReadEvents(std::int64_t since, JobId job, std::size_t limit) override;
  Result<std::vector<AttemptRecord>> ReadAttempts(const std::vector<JobId>& ids) override;
  Result<std::vector<AuditRow>> ReadAudit(std::size_t limit) override;
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
  /// Everything durable.
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
    std::map<std::int64_t, Event> events;
    std::map<std::pair<std::string, std::string>, FairUseRow> fair_use;
    std::map<std::pair<std::string, std::string>, SetAsideObject> set_aside;
    std::map<WorkKey, WorkPtr> works;
    std::map<SnapshotKey, SnapshotPtr> snapshots;
    std::vector<AuditRow> audit;
  };
  /// Undoes the changes made so far by one commit, newest first.
  using UndoLog = std::vector<std::function<void()>>;

  void Carry(std::function<void()> write);
  void EndLead(Epoch epoch);
  /// Carries one write out under the lock: `write` unless it is refused or a fault keeps it from
  /// happening.
  template <class T>
  Result<T> Write(Epoch epoch, const std::function<Result<T>()>& write,
                  const std::function<Result<T>(bool last)>& find);
  /// Asks for the outcome of a write whose answer is lost: `find` judges by what is there, and by
  /// whether the write was the last of its epoch.
  template <class T>
  Result<T> Resolve(std::unique_lock<std::mutex>* lock, const LostAnswer& how, Epoch epoch,
                    const std::function<Result<T>()>& write,
                    const std::function<Result<T>(bool last)>& find);
  void EndEpoch();
  Result<Accepted> AcceptOne(const NewJob& job);
  std::optional<Result<Accepted>> HeldKey(const NewJob& job) const;
  Result<std::vector<Result<Accepted>>> FindAccepted(const std::vector<NewJob>& jobs, bool last);
  Result<CommitVersion> CommitAll(const PlanCommit& commit);
  Status Apply(const PlanCommit& commit, UndoLog* undo);
  Status ApplyJobs(const PlanCommit& commit, UndoLog* undo);
  Status ApplyAttempts(const PlanCommit& commit, UndoLog* undo);
  Status ApplyDispatches(const PlanCommit& commit, UndoLog* undo);
  Status PutDispatch(const DispatchRow& row, UndoLog* undo);
  void ApplyObjects(const PlanCommit& commit, UndoLog* undo);
  Status ApplyEvents(const PlanCommit& commit, UndoLog* undo);
  void ForgetKeys(WallTime before, UndoLog* undo);
  Status CheckReadable() const;

  const MemoryStoreOptions options_;
  mutable std::mutex mutex_;  // guards everything below
  Tables tables_;
  Epoch epoch_;
  bool leading_ = false;
  bool away_ = false;
  std::int64_t last_seq_ = 0;
  std::map<std::size_t, StoreFault> faults_;  // by number of the write
  std::map<std::size_t, LostAnswer> lost_;    // likewise
  std::size_t last_write_ = 0;                // number of the last one that was written
  std::map<Epoch, std::size_t> ended_;        // the last of each epoch that ended
  std::size_t writes_ = 0;
  std::deque<std::function<void()>> waiting_;
};

}  // namespace muster
