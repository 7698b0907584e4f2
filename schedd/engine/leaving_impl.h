// Engine::Impl::Leaving: jobs that leave their members because these are drained or tainted, or
// because an eviction object says so (placement.md 1.12). Once a second it looks at whom nothing
// keeps any more. All that it goes by is in objects and job records, so a crash loses nothing. On
// the engine thread only.
#pragma once

#include <map>
#include <set>
#include <string>

#include "schedd/core/disruption.h"
#include "schedd/engine/impl.h"

namespace muster {

struct Engine::Impl::Leaving {
  explicit Leaving(Impl& engine_in) : engine(engine_in) {}

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

 private:
  using Jobs = std::map<JobId, JobPtr>;
  using Eviction = std::pair<const std::pair<std::string, std::string>, PlacementEviction>;
  struct Verdict {
    bool carried_out = false;
    std::string invalid, message;
  };

  bool IsLeaving(const JobRecord& job) const;
  bool IsAvailable(const JobRecord& job) const;
  void CountJobs(core::Disruptions* budgets) const;
  Jobs JobsOn(const std::set<std::string>& clusters) const;
  void Send(const JobPtr& job, Reason reason, const std::string& message);
  void FollowTaints(const ConfigView& config, core::Disruptions* budgets);
  void Drain(const ConfigView& config, core::Disruptions* budgets);
  void DrainOne(const ConfigView& config, const JobPtr& job, core::Disruptions* budgets);
  void CarryOut(const ConfigView& config, const Eviction& eviction, core::Disruptions* budgets);
  Verdict Judge(const ConfigView& config, const PlacementEviction& eviction,
                core::Disruptions* budgets, std::vector<JobPtr>* leave) const;
  void WriteStatus(const PlacementEviction& eviction, const Verdict& verdict);

  Impl& engine;
  std::set<std::string> members_;  // that are drained or have a taint NoExecute
  std::set<std::pair<std::string, std::string>> evictions_;  // that are not over
  bool reserved_too_ = false;  // jobs without attempt are looked at too: nothing follows there
  std::size_t sent_ = 0;       // by this look
  Monotonic next_{};
  std::map<std::string, DrainProgress> progress_;  // of drained members
};

}  // namespace muster
