// Database: what survives every daemon. Session: the connection of one daemon's life to it. A
// write takes effect after a while, in order, or not at all; its answer comes later still, wrong or
// never. One thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "schedd/store/memory/memory_store.h"
#include "tests/sim/columns.h"
#include "tests/sim/stage.h"

namespace muster::sim {

class Session;

struct Database {
  explicit Database(Stage& stage) : columns(stage) {}

  MemoryStore memory;
  /// What is written goes through them, as on PostgreSQL.
  Columns columns;
  /// Null: nobody leads.
  Session* leader = nullptr;
  Epoch epoch;  // of the last lead that was taken, and when
  std::int64_t led_at_ns = 0;
  bool away = false;
  /// After each write that took effect; set by the world.
  std::function<void()> on_durable;
  void SetAway(bool now_away) {
    away = now_away;
    memory.SetAway(now_away);
    if (now_away) leader = nullptr;
  }
  /// Everything that is stored and not long over.
  StoredWorld Load();
  void Write(Epoch epoch, std::vector<NewJob> batch, const std::vector<AuditRow>& audit,
             Callback<std::vector<Result<AcceptedJob>>> done);
  void Write(Epoch epoch, PlanCommit commit, Callback<CommitVersion> done);
  /// True if a record of the change is what is stored now.
  bool Has(const PlanCommit& commit);
};

class Session final : public Store {
 public:
  Session(Stage& stage, Database& database);
  ~Session() override { Die(); }
  /// The daemon dies: of its writes on their way some more arrive.
  void Die();
  /// The daemon is stopped or goes on; while it is stopped another may take the lead.
  void SetFrozen(bool frozen) { frozen_ = frozen; }
  /// True if another daemon has led for longer than `ns`.
  bool IsReplacedFor(std::int64_t ns) const {
    return database_.leader != nullptr && database_.leader != this &&
           stage_.clock.Now().ns - database_.led_at_ns > ns;
  }
  /// True if a write has no answer yet.
  bool Owes() const { return wire_->sent != wire_->answered; }

  Result<Lease> Lead(const std::string& holder, std::chrono::milliseconds wait) override;
  Result<StoredWorld> Load(Epoch epoch, WallTime finished_since) override;
  using Store::Accept;
  using Store::ReadAudit;
  void Accept(Epoch epoch, std::vector<NewJob> batch, std::vector<AuditRow> audit,
              Callback<std::vector<Result<AcceptedJob>>> done) override;
  void Commit(Epoch epoch, PlanCommit commit, Callback<CommitVersion> done) override;
  Result<std::vector<std::string>> ReadManifests(const std::vector<JobId>& ids) override {
    return database_.memory.ReadManifests(ids);
  }
  Result<std::vector<ArrayEnds>> ReadArrayEnds(const std::vector<JobId>& arrays) override {
    return database_.memory.ReadArrayEnds(arrays);
  }
  Result<std::vector<JobPtr>> ReadJobs(const JobQuery& query) override {
    return database_.memory.ReadJobs(query);
  }
  Result<JobPtr> ReadJob(JobId id) override { return database_.memory.ReadJob(id); }
  Result<JobId> FindJob(const std::string& ns, ShapeKind shape, const std::string& name) override {
    return database_.memory.FindJob(ns, shape, name);
  }
  Result<JobId> FindJob(Uid uid) override { return database_.memory.FindJob(uid); }
  Result<std::vector<Event>> ReadEvents(std::int64_t since, JobId job, std::size_t limit) override {
    return database_.memory.ReadEvents(since, job, limit);
  }
  Result<std::vector<AttemptRecord>> ReadAttempts(const std::vector<JobId>& ids) override {
    return database_.memory.ReadAttempts(ids);
  }
  Result<std::vector<StepRecord>> ReadSteps(const StepQuery& query) override {
    return database_.memory.ReadSteps(query);
  }
  Result<std::vector<AuditRow>> ReadAudit(const AuditQuery& query) override {
    return database_.memory.ReadAudit(query);
  }
  Result<AuditAnchor> ReadAuditAnchor() override { return database_.memory.ReadAuditAnchor(); }
  Result<std::vector<ObjectPtr>> ReadObjects(ObjectKind kind) override {
    return database_.memory.ReadObjects(kind);
  }
  Result<std::string> InstanceId() override { return database_.memory.InstanceId(); }
  Status Ping() override { return database_.memory.Ping(); }

 private:
  /// What outlives the session: writes and answers on their way look at it.
  struct Wire {
    bool alive = true;
    std::int64_t last_write_ns = 0, last_answer_ns = 0;
    std::uint64_t sent = 0, answered = 0;
    std::uint64_t arrives = ~0ULL;  // writes above this number are lost
  };
  template <class T>
  void Write(Epoch epoch, std::function<void(Callback<T>)> write, Callback<T> done);
  void LayFault();
  std::int64_t Latency();

  Stage& stage_;
  Database& database_;
  bool frozen_ = false;
  std::shared_ptr<Wire> wire_ = std::make_shared<Wire>();
};

}  // namespace muster::sim
