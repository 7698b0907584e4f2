// Clients: the users of a simulated world. What they do and when is planned before the world
// begins, so that a world without faults sees the same users. They repeat a submission under its
// key until it is answered, and believe only answers that reached them. One thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "schedd/engine/engine.h"
#include "tests/sim/manifests.h"
#include "tests/sim/stage.h"

namespace muster::sim {

class Clients {
 public:
  /// `daemon` is the engine that answers at the moment; null if none does. The world sees every
  /// answer as it leaves the daemon: `on_job` a job's record, `on_objects` applied objects.
  Clients(Stage& stage, std::function<Engine*()> daemon);

  /// Declares the queues and members, then begins with the plan.
  void Begin();
  /// Faults have stopped: whoever holds a job, a quota or a member lets it go.
  void Heal();

  /// All jobs that were answered, by the name of their plan.
  const std::map<std::string, JobId>& accepted() const { return accepted_; }
  /// Every planned submission was answered.
  bool Done() const { return answered_ == plans_.size(); }
  bool declared() const { return declared_; }
  /// When the last planned submission was answered, and how many jobs are planned.
  std::size_t planned() const { return plans_.size(); }
  /// Cancels that were acknowledged, with the highest attempt that the job had then.
  const std::map<JobId, std::int32_t>& cancelled() const { return cancelled_; }
  /// The plan of an accepted job, or null; and the job that it depends on, or 0.
  const JobPlan* PlanOf(JobId id) const;
  JobId ParentOf(JobId id) const;

  std::function<void(const JobPtr&, const char* what)> on_job;
  std::function<void(const std::vector<AppliedObject>&)> on_objects;

 private:
  struct Act {
    std::int64_t at_ms = 0;
    std::size_t job = 0;
    JobVerb verb = JobVerb::kCancel;
  };
  void Plan();
  void PlanJob(Dice* dice, std::size_t index);
  void Submit(std::size_t index, int tries);
  void Take(std::size_t index, int tries, Result<std::vector<Result<SubmittedJob>>> result);
  void Do(const Act& act, int tries);
  void Apply(std::vector<ObjectChange> changes, std::function<void()> done);
  void EditQuota(Dice* dice);
  void Drain(const std::string& cluster, bool on, int tries);
  void LetGo();
  ObjectChange QueueObject(int queue, std::int64_t quota) const;
  std::int64_t Delay() { return static_cast<std::int64_t>(stage_.delays.Below(20)) * kMs; }

  Stage& stage_;
  std::function<Engine*()> daemon_;
  Dice dice_;
  std::vector<JobPlan> plans_;
  std::vector<Act> acts_;
  std::map<std::string, JobId> accepted_;
  std::map<JobId, std::int32_t> cancelled_, requeues_under_way_;
  std::map<JobId, std::size_t> plan_of_;
  std::map<std::size_t, JobId> parents_;  // by the plan's index
  std::size_t answered_ = 0;
  bool declared_ = false;
  std::uint64_t requests_ = 0;
  std::map<std::uint64_t, bool> open_;  // requests without an answer
};

}  // namespace muster::sim
