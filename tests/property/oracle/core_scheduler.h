// schedd/core driven as the engine drives it, over a World that keeps only the held quota: the side
// that the oracle is compared with.
#pragma once

#include "schedd/core/cycle/cycle.h"
#include "schedd/core/cycle/cycle_cache.h"
#include "schedd/core/queue/queue_order.h"
#include "tests/property/oracle/oracle.h"
#include "tests/property/oracle/translate.h"

namespace muster::oracle {

/// The decisions of one plan, in the oracle's terms where they exist.
struct CoreDecisions {
  std::map<int, Holding> admitted;
  std::map<int, Reason> evicted;  // with the reason of the preemption
  struct WaitOutcome {
    Reason reason = Reason::kNone;
    core::RequeueReason requeue = core::RequeueReason::kGeneric;
  };
  std::map<int, WaitOutcome> waiting;
  bool scanning = false;  // a waiting head has flavors left to try

  /// The same admissions and evictions in the order in which they were decided.
  struct Move {
    int workload = -1;
    int preemptor = -1;  // -1: the workload is admitted; else: evicted for this one
    Reason reason = Reason::kNone;
    bool operator==(const Move&) const = default;
  };
  std::vector<Move> moves;
};

class CoreScheduler {
 public:
  /// Starts from the same world as the oracle. The state of the world's queues (parked workloads,
  /// scans) is ignored.
  explicit CoreScheduler(const World& world);

  /// One plan of exactly one single-head cycle.
  CoreDecisions SingleHeadCycle();
  /// Plans of many heads, `per_queue` heads of each queue at a time, until nothing changes any
  /// more.
  CoreDecisions ManyHeads(std::size_t per_queue);

  void FinishEvictions();
  /// Finishes the evictions of these workloads only.
  void FinishEvictions(const std::vector<int>& stopped);
  void Finish(int workload);
  /// A workload that was done when the scheduler started waits from now on.
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

  World world_;  // only the holdings of workloads and the clock are kept up to date
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
