// Machines: the trees of topology aware flavors with what holders take of them (rule A44), and the
// queue of second passes, which decide what was left open of a placement (rule A17). On the engine
// thread only.
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

  /// Forgets everything, for a recovery.
  void Reset();
  /// Members, machines or the configuration changed: the trees are made again when they are needed.
  void ForgetTrees() { forest_known_ = false; }
  /// What holders of the live world take of the machines; empty if no flavor is topology aware.
  const core::TopologyUsage& Usage();

  /// The trees of this configuration; null if no flavor is topology aware.
  core::TopologyForestPtr ForestOf(const ConfigView& config) const;
  /// What these holders take of the machines. `each`, if not null, gets the charges of each holder.
  static core::TopologyUsage UsageOf(const ConfigView& config, const core::TopologyForestPtr& trees,
                                     const core::Holders& holders, const core::QuotaTree& tree,
                                     Charges* each);

  // --- second passes
  /// Queues the job for a second pass if it needs one; else forgets it.
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
  // Null if no flavor is topology aware.
  core::TopologyForestPtr forest_;
  // The sum of `charges_`.
  core::TopologyUsage usage_;
  bool forest_known_ = false, usage_known_ = false;
  Charges charges_;
  core::SecondPassQueue second_passes_;
};

}  // namespace muster
