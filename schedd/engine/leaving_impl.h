// Engine::Impl::Leaving: jobs that leave their members because these are drained or tainted,
// because an eviction object says so (rule P30), or because another member suits them
// better. Once a second it looks at whom nothing keeps any more. All that it goes by is in objects
// and job records, so a crash loses nothing. On the engine thread only.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "schedd/core/member/disruption.h"
#include "schedd/engine/impl.h"

namespace muster {

struct Engine::Impl::Leaving {
  explicit Leaving(Impl& engine_in);
  ~Leaving();

  /// The configuration is another one: who leaves is looked at anew.
  void Configure();
  /// If it is time; true if anything changed.
  bool Fire();
  /// At once.
  bool Look();
  /// When Fire has something to do; nullopt: nobody leaves.
  std::optional<Monotonic> Next() const;
  /// What the last look found on a drained member.
  DrainProgress ProgressOf(const std::string& cluster) const;

  /// Who is on his way out already, and who runs and may be sent away.
  bool IsLeaving(const JobRecord& job) const;
  bool IsAvailable(const JobRecord& job) const;
  void CountJobs(core::Disruptions* budgets) const;
  void Send(const JobPtr& job, Reason reason, const std::string& message);

  Impl& engine;

 private:
  using Jobs = std::map<JobId, JobPtr>;
  using Eviction = std::pair<const std::pair<std::string, std::string>, PlacementEviction>;
  struct Verdict {
    bool carried_out = false;
    std::string invalid, message;
    WallTime at;
  };
  // What a placement has on one member.
  struct There {
    std::vector<JobPtr> leave;
    std::size_t jobs = 0, kept = 0, away = 0;
    std::int64_t available = 0;  // of those that leave
    WorkPtr work;                // null: none
    bool has_objects = false;    // that are to stay
    bool loses_objects = false;  // they are on their way out
  };

  struct Rebalancing;  // rebalancing.cc
  std::optional<Monotonic> NextLook() const;
  Jobs JobsOn(const std::set<std::string>& clusters) const;
  void FollowTaints(const ConfigView& config, core::Disruptions* budgets);
  void Drain(const ConfigView& config, core::Disruptions* budgets);
  void DrainOne(const ConfigView& config, const JobPtr& job, core::Disruptions* budgets);
  void CarryOut(const ConfigView& config, const Eviction& eviction, core::Disruptions* budgets);
  There WhatIsThere(const ConfigView& config, const PlacementEviction& eviction) const;
  Verdict Judge(const ConfigView& config, const PlacementEviction& eviction,
                core::Disruptions* budgets, std::vector<JobPtr>* leave) const;
  bool IsLost(const std::string& cluster) const;
  core::DisruptionCount CountMembers(const Placement& placement) const;
  void AskBudget(const Placement& placement, const There& there, core::Disruptions* budgets,
                 Verdict* verdict) const;
  void WriteStatus(const PlacementEviction& eviction, const Verdict& verdict);

  const std::unique_ptr<Rebalancing> rebalancing_;
  std::set<std::string> members_;  // that are drained or have a taint NoExecute
  std::set<std::pair<std::string, std::string>> evictions_;  // that are not over
  bool reserved_too_ = false;  // jobs without attempt are looked at too: nothing follows there
  std::size_t sent_ = 0;       // by this look
  Monotonic next_{};
  std::map<std::string, DrainProgress> progress_;  // of drained members
};

}  // namespace muster
