// FlavorPlan: a workload's pod sets compiled against one ClusterQueue, so that searching again on
// another usage costs no string work (rule A27). One plan serves all workloads of a class
// (workload_class.h). It is bound to the ConfigView, AdmissionSettings, QuotaTree, ClusterQueue,
// pod sets and TopologyPlacer that it was made for, which must outlive it. Pure; not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "schedd/core/flavor/flavor_assigner.h"
#include "schedd/core/flavor/flavor_steps.h"
#include "schedd/core/quota/quota_tree.h"

namespace muster::core {

/// One way to serve all pod sets, with the admission and the charges that follow from it.
struct FlavorChoice {
  std::vector<std::int16_t> options;  // the option of each step of the plan
  AdmissionPtr admission;
  Charges charges;
};

/// The result of Choose. `choice` and `level` (of borrowing) are set for kFits and kNoVictims.
struct QuickVerdict {
  enum class Kind : std::uint8_t {
    kFits,         // it fits now, without preemption
    kNoFit,        // no flavor fits, now or with evictions
    kNoVictims,    // other holders use the quota it needs, and its queue may evict nobody
    kNeedsSearch,  // only Assign with an oracle, or a topology, can decide
  };
  Kind kind = Kind::kNoFit;
  const FlavorChoice* choice = nullptr;  // valid as long as the plan
  std::int32_t level = 0;
};

class FlavorPlan {
 public:
  /// `topology` null: no flavor has known machines.
  FlavorPlan(const ConfigView& config, const AdmissionSettings& settings, const QuotaTree& tree,
             const ClusterQueue& queue, const JobRecord& job, TopologyPlacer* topology);

  /// The verdict that Assign with these arguments would come to, by integer arithmetic alone; it
  /// allocates nothing for a choice that was seen before. Not for second passes, slices and
  /// recomputations.
  QuickVerdict Choose(const Usage& usage, const ScanPosition* resume);
  /// The complete answer for `job`, one of the plan's class. Two jobs in a row with the same trace
  /// share one answer, as most jobs that do not fit do.
  AssignmentPtr Assign(const Usage& usage, const JobRecord& job, const AssignRequest& request);

  /// -1 if the tree does not know the ClusterQueue.
  NodeIndex queue() const { return queue_; }
  const Demand& demand() const { return demand_; }
  /// True if some pod set is to be placed on machines, so that only Assign can say that it fits.
  bool needs_topology() const { return needs_topology_; }

 private:
  friend class FlavorWalk;
  friend class FlavorReport;

  /// The choice of the last walk, found or made from the buffers.
  const FlavorChoice* LastChoice();

  const ConfigView& config_;
  const AdmissionSettings& settings_;
  const ClusterQueue& spec_;
  TopologyPlacer* topology_;
  NodeIndex queue_ = -1;
  Demand demand_;
  bool needs_topology_ = false;
  bool may_evict_ = false;               // some preemption policy of the queue is not Never
  bool evicts_while_borrowing_ = false;  // rule A29
  std::vector<FlavorBatch> batches_;
  std::vector<std::unique_ptr<FlavorChoice>> choices_;
  // Buffers of Choose and Assign.
  std::vector<std::int16_t> options_;
  Charges assumed_;
  FlavorTrace trace_;
  // The last answer that may be shared (null: none) and its trace.
  FlavorTrace last_trace_;
  AssignmentPtr last_said_;
};

}  // namespace muster::core
