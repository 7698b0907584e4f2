// Rebalancing: running jobs of ClusterQueues with the annotation muster.io/rebalance move to a
// member that their placement prefers (rule P17). Each such queue is looked at once a period, some
// jobs in each step, and then one job leaves, the one that gains most. On the engine thread only.
//
// Nothing is stored: a period begins anew with a start, and a job that moves is an evicted job.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schedd/core/member/rebalance.h"
#include "schedd/engine/members/leaving.h"

namespace muster {

class Rebalancing {
 public:
  /// All must outlive it.
  Rebalancing(EngineContext& context, const LiveConfig& config, LiveJobs& jobs, Leaving& leaving)
      : context_(context), config_(config), jobs_(jobs), leaving_(leaving) {}

  /// The configuration changed. Periods that have begun go on.
  void Configure();
  /// Takes a step if one is due; true if a job left.
  bool Fire();
  /// When Fire has something to do; nullopt: no queue asks for rebalancing.
  std::optional<Monotonic> Next() const;

 private:
  struct Candidate {
    JobPtr job;
    core::BetterMember better;
  };
  // The look at one queue that is under way.
  struct Look {
    std::string queue;
    // Jobs not tried yet; the last one is next.
    std::vector<JobId> left;
    ConfigPtr config;
    // The budgets as they were when the look began.
    core::Disruptions budgets;
    std::optional<Candidate> best;
  };

  void Begin(const std::string& queue);
  void Start(const std::string& queue, std::vector<JobId> jobs);
  bool SomebodyMoves(const Rebalance& settings) const;
  bool IsCandidate(const JobRecord& job, const std::string& queue) const;
  void TrySome();
  bool MayGo(const JobRecord& job) const;
  bool End();

  EngineContext& context_;
  const LiveConfig& config_;
  LiveJobs& jobs_;
  Leaving& leaving_;
  // By ClusterQueue: when its next look begins.
  std::map<std::string, Monotonic> due_;
  // Null: no look is under way.
  std::unique_ptr<Look> look_;
  // When the look under way takes its next step.
  Monotonic next_step_{};
};

}  // namespace muster
