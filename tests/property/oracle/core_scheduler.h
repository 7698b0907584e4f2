// schedd/core driven as an engine would, over a World that only keeps what holds quota: what the
// oracle is compared with.
#pragma once

#include "schedd/core/cycle/cycle.h"
#include "schedd/core/cycle/cycle_cache.h"
#include "schedd/core/queue/queue_order.h"
#include "tests/property/oracle/oracle.h"
#include "tests/property/oracle/translate.h"

namespace muster::oracle {

/// What one plan did, in the oracle's terms where they exist.
struct CoreDecisions {
  std::map<int, Holding> admitted;
  std::map<int, Reason> evicted;  // with the reason of the preemption
  struct Waits {
    Reason reason = Reason::kNone;
    core::RequeueReason requeue = core::RequeueReason::kGeneric;
  };
  std::map<int, Waits> waiting;
  bool scanning = false;  // some head that waits has flavors left to try

  /// The same admissions and evictions in the order in which they were decided.
  struct Move {
    int workload = -1;
    int preemptor = -1;  // -1: it is admitted
    Reason reason = Reason::kNone;
    bool operator==(const Move&) const = default;
  };
  std::vector<Move> moves;
};

class CoreScheduler {
 public:
  /// Starts from the same world as the oracle: nothing of its queues' state counts.
  explicit CoreScheduler(const World& world);

  /// One plan of exactly one single-head cycle.
  CoreDecisions SingleHeadCycle();
  /// Plans of many heads, a few of each queue shown at a time, until nothing moves any more.
  CoreDecisions ManyHeads(std::size_t per_queue);

  void FinishEvictions();
  /// Those of some evicted workloads alone.
  void FinishEvictions(const std::vector<int>& stopped);
  void Finish(int workload);
  /// One that was done when the scheduler started waits from now on.
  void Arrive(int workload);
  void SetClock(int seconds) { world_.clock = seconds; }
  bool IsActive(int workload) const { return pending_.IsActive({workload + 1}); }
  const World& world() const { return world_; }

 private:
  bool OnePlan(std::size_t per_queue, std::size_t rounds, CoreDecisions* decisions);
  void Hold(int workload);
  void Release(int workload);
  void Stop(int workload);
  void Flush(const std::vector<int>& workloads);
  WallTime Now() const { return {world_.clock * kMicrosPerSecond}; }

  World world_;  // only what workloads hold, and the clock
  ConfigPtr config_;
  AdmissionSettingsPtr settings_;
  core::QuotaTreePtr tree_;
  core::PendingQueues pending_;
  core::CycleCache cache_;
  core::Usage usage_;
  core::Holders holders_;
  std::int64_t cycle_ = 1;
};

}  // namespace muster::oracle
