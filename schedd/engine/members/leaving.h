// Leaving: jobs that leave their members because these are drained or tainted, because an eviction
// object says so (rule P30), or because another member suits them better. Once a second it looks
// for jobs that nothing keeps any more. All that it goes by is in objects and job records, so a
// crash loses nothing. On the engine thread only.
//
// leaving.cc follows taints and drains; eviction_objects.cc judges eviction objects; rebalancing.h
// moves jobs to better members.
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

  /// Which jobs leave is looked at anew.
  void Configure() override;
  /// If it is time; true if anything changed.
  bool Fire();
  /// When Fire has something to do; nullopt: no job is to leave.
  std::optional<Monotonic> Next() const;
  /// Marks a member as drained, and says what the first look found there.
  void Handle(DrainCommand command);

  /// True if the job is on its way out already.
  bool IsLeaving(const JobRecord& job) const;
  /// True if it runs and may be sent away.
  bool IsAvailable(const JobRecord& job) const;
  void CountJobs(core::Disruptions* budgets) const;
  void Send(const JobPtr& job, Reason reason, const std::string& message);

 private:
  using Jobs = std::map<JobId, JobPtr>;
  using Eviction = std::pair<const std::pair<std::string, std::string>, PlacementEviction>;
  struct Verdict {
    bool carried_out = false;
    std::string invalid, message;
    WallTime at;
  };
  // What a placement has on one member.
  struct Holding {
    std::vector<JobPtr> leave;
    std::size_t jobs = 0, kept = 0, away = 0;
    std::int64_t available = 0;  // of those that leave
    WorkPtr work;                // null: none
    bool has_objects = false;    // that are to stay
    bool loses_objects = false;  // they are on their way out
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
  std::set<std::string> leaving_members_;  // that are drained or have a taint NoExecute
  std::set<std::pair<std::string, std::string>> evictions_;  // that are not over
  // Jobs without an attempt are looked at too: none of them follow on a member that takes none.
  bool reserved_too_ = false;
  std::size_t sent_ = 0;  // by this look
  Monotonic next_{};
  std::map<std::string, DrainProgress> progress_;  // of drained members
};

}  // namespace muster
