// Rebalancing: running jobs of ClusterQueues with the annotation muster.io/rebalance go to a member
// that their placement likes better. Each such queue is looked at once a period, some jobs a step,
// and then the one job leaves that gains most. On the engine thread only.
//
// Nothing of it is stored: the period begins anew with a start, and which job moves is in its row.
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

  /// The configuration is another one. Periods that have begun go on.
  void Configure();
  /// If it is time; true if anything changed.
  bool Fire();
  /// When Fire has something to do; nullopt: no queue asks for it.
  std::optional<Monotonic> Next() const;

 private:
  struct Candidate {
    JobPtr job;
    core::BetterMember better;
  };
  // One queue's jobs, being looked at.
  struct Look {
    std::string queue;
    std::vector<JobId> left;  // the last one is next
    ConfigPtr config;
    core::Disruptions budgets;  // as they were when it began
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
  std::map<std::string, Monotonic> due_;  // by ClusterQueue: its next look
  std::unique_ptr<Look> look_;            // null: none is under way
  Monotonic next_step_{};                 // of it
};

}  // namespace muster
