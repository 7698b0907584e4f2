// Engine::Impl::Leaving::Rebalancing: running jobs of ClusterQueues with the annotation
// muster.io/rebalance go to a member that their placement likes better. Each such queue is looked
// at once a period, some jobs a step, and then the one job leaves that gains most. On the engine
// thread only.
//
// Nothing of it is stored: the period begins anew with a start, and who moves is in the job's row.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schedd/core/member/rebalance.h"
#include "schedd/engine/leaving_impl.h"

namespace muster {

struct Engine::Impl::Leaving::Rebalancing {
  explicit Rebalancing(Leaving& leaving) : leaving_(leaving), engine_(leaving.engine) {}

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

  Leaving& leaving_;
  Impl& engine_;
  std::map<std::string, Monotonic> due_;  // by ClusterQueue: its next look
  std::unique_ptr<Look> look_;            // null: none is under way
  Monotonic next_step_{};                 // of it
};

}  // namespace muster
