// Machines: the trees of topology aware flavors with what holders take of them (rule A44), and
// second passes for what was left open of a placement (rule A17). The trees are made when somebody
// asks for them after a change of the members; what holders take changes holder by holder. On the
// engine thread only.
#pragma once

#include <unordered_map>

#include "schedd/core/queue/second_pass.h"
#include "schedd/core/topology/topology_usage.h"
#include "schedd/engine/live/live_jobs.h"

namespace muster {

class Machines : public JobFollower {
 public:
  /// What each holder takes of the machines.
  using Charges = std::unordered_map<JobId, core::TopologyCharges>;

  /// All must outlive it.
  Machines(EngineContext& context, const LiveConfig& config, const KnownMembers& members,
           LiveJobs& jobs)
      : context_(context), config_(config), members_(members), jobs_(jobs) {}

  void Reset();
  /// What members have, or what is charged to whom, is other than before.
  void ForgetTrees() { forest_known_ = false; }
  /// What the machines of the live world are used for; empty if no flavor is topology aware.
  const core::TopologyUsage& Usage();

  /// The trees of a configuration; null: no flavor is topology aware.
  core::TopologyForestPtr ForestOf(const ConfigView& config) const;
  /// What the holders of a world take of its machines. `each` may be null.
  static core::TopologyUsage UsageOf(const ConfigView& config, const core::TopologyForestPtr& trees,
                                     const core::Holders& holders, const core::QuotaTree& tree,
                                     Charges* each);

  // --- second passes
  void OfferSecondPass(const JobPtr& job);
  bool SecondPassDue() const;
  std::vector<JobPtr> TakeSecondPasses(WallTime now) { return second_passes_.TakeDue(now); }
  void EraseSecondPass(JobId id) { second_passes_.Erase(id); }
  WallTime NextSecondPass() const { return second_passes_.NextDue(); }

  void Enter(const JobPtr& job) override { OfferSecondPass(job); }
  void Change(const JobRecord& before, const JobPtr& job) override;

 private:
  void Track(const JobRecord& before, const JobPtr& after, bool holds);

  EngineContext& context_;
  const LiveConfig& config_;
  const KnownMembers& members_;
  LiveJobs& jobs_;
  core::TopologyForestPtr forest_;  // null: no flavor is topology aware
  core::TopologyUsage usage_;       // of the holders
  bool forest_known_ = false, usage_known_ = false;
  Charges charges_;  // what `usage_` is made of
  core::SecondPassQueue second_passes_;
};

}  // namespace muster
