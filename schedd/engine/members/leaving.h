// Leaving: jobs that leave their member because it is drained or tainted (rule P32), because an
// eviction object says so (rule P30), or because another member suits them better (rebalancing.h).
// While there is something to do it looks once a second for jobs that may leave now. Everything
// follows from objects and job records, so a crash loses nothing. On the engine thread only.
//
// leaving.cc follows taints and drains; eviction_objects.cc judges eviction objects.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "schedd/core/member/disruption.h"
#include "schedd/engine/configure/configuration.h"

namespace muster {

class Rebalancing;

class Leaving : public ConfigFollower {
 public:
  /// All must outlive it.
  Leaving(EngineContext& context, const LiveConfig& config, const KnownMembers& members,
          LiveJobs& jobs, const DispatchRows& rows, Attempts& attempts, const Works& works,
          Configuration& configuration);
  ~Leaving() override;

  /// The configuration changed: finds anew what there is to do.
  void Configure() override;
  /// Takes a look or a step of rebalancing if one is due; true if anything changed.
  bool Fire();
  /// When Fire has something to do; nullopt: nothing has to leave.
  std::optional<Monotonic> Next() const;
  /// Marks a member as draining, and answers what the first look found there.
  void Handle(DrainCommand command);

  /// True if the job is being evicted or cancelled already.
  bool IsLeaving(const JobRecord& job) const;
  /// True if the job runs, is not leaving, and its member is not lost: it counts as available for
  /// its budget (rule P31).
  bool IsAvailable(const JobRecord& job) const;
  /// Counts all jobs of placements with a budget.
  void CountJobs(core::Disruptions* budgets) const;
  /// Evicts a job off its member for this reason.
  void Send(const JobPtr& job, Reason reason, const std::string& message);

 private:
  using Jobs = std::map<JobId, JobPtr>;
  using Eviction = std::pair<const std::pair<std::string, std::string>, PlacementEviction>;
  // The judgement about an eviction object. `invalid`: why it is not valid, or "". `at`: the time
  // of the execution.
  struct Verdict {
    bool carried_out = false;
    std::string invalid, message;
    WallTime at;
  };
  // What a placement has on one member. `jobs` of it hold quota there: `leave` may go, `kept` may
  // not be requeued, `away` do not answer.
  struct Holding {
    std::vector<JobPtr> leave;
    std::size_t jobs = 0, kept = 0, away = 0;
    // How many of `leave` run.
    std::int64_t available = 0;
    // Its configuration objects; null: none.
    WorkPtr work;
    // There are objects that are to stay.
    bool has_objects = false;
    // There are objects, and they are being removed.
    bool loses_objects = false;
  };

  bool Look();
  std::optional<Monotonic> NextLook() const;
  Jobs JobsOn(const std::set<std::string>& clusters) const;
  void FollowTaints(const ConfigView& config, core::Disruptions* budgets);
  void Drain(const ConfigView& config, core::Disruptions* budgets);
  void DrainOne(const ConfigView& config, const JobPtr& job, core::Disruptions* budgets);
  DrainProgress ProgressOf(const std::string& cluster) const;

  void CarryOut(const ConfigView& config, const Eviction& eviction, core::Disruptions* budgets);
  Holding HoldingOf(const ConfigView& config, const PlacementEviction& eviction) const;
  void AddObjects(const PlacementEviction& eviction, Holding* holding) const;
  Verdict Judge(const ConfigView& config, const PlacementEviction& eviction,
                core::Disruptions* budgets, std::vector<JobPtr>* leave) const;
  core::DisruptionCount CountMembers(const Placement& placement) const;
  void AskBudget(const Placement& placement, const Holding& holding, core::Disruptions* budgets,
                 Verdict* verdict) const;
  void WriteStatus(const PlacementEviction& eviction, const Verdict& verdict);

  EngineContext& context_;
  const LiveConfig& config_;
  const KnownMembers& members_;
  LiveJobs& jobs_;
  const DispatchRows& rows_;
  Attempts& attempts_;
  const Works& works_;
  Configuration& configuration_;
  const std::unique_ptr<Rebalancing> rebalancing_;
  // Members that are draining or have a NoExecute taint.
  std::set<std::string> leaving_members_;
  // Eviction objects without a verdict, by namespace and name.
  std::set<std::pair<std::string, std::string>> evictions_;
  // The next look also looks at jobs without an attempt (see JobsOn).
  bool reserved_too_ = false;
  // Jobs that this look has sent away.
  std::size_t sent_ = 0;
  Monotonic next_{};
  // What the last look found on each draining member.
  std::map<std::string, DrainProgress> progress_;
};

}  // namespace muster
