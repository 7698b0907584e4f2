// FlavorPlan: a workload's pod sets compiled against one ClusterQueue, so that trying it again on
// other usage costs no string work (rule A27). One plan serves all workloads of a class
// (workload_class.h). Bound to the ConfigView, AdmissionSettings, QuotaTree, ClusterQueue, pod sets
// and TopologyPlacer it was made for, which must outlive it. Pure; not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "schedd/core/flavor/flavor_assigner.h"
#include "schedd/core/flavor/flavor_steps.h"
#include "schedd/core/quota/quota_tree.h"

namespace muster::core {

/// One way to serve all pod sets, and what follows from it.
struct FlavorChoice {
  std::vector<std::int16_t> options;  // of each step of the plan
  AdmissionPtr admission;
  Charges charges;
};

/// What Choose came to. `choice` and `level` (of borrowing) are set by kFits and kNoVictims.
struct QuickVerdict {
  enum class Kind : std::uint8_t {
    kFits,         // now, without preemption
    kNoFit,        // no flavor could ever serve it, or none that quota lets it wait for
    kNoVictims,    // quota would serve it, but others use it and its queue may evict nobody
    kNeedsSearch,  // only Assign with an oracle, or a topology, can tell
  };
  Kind kind = Kind::kNoFit;
  const FlavorChoice* choice = nullptr;  // lives as long as the plan
  std::int32_t level = 0;
};

class FlavorPlan {
 public:
  /// `topology` null: no flavor knows its machines.
  FlavorPlan(const ConfigView& config, const AdmissionSettings& settings, const QuotaTree& tree,
             const ClusterQueue& queue, const JobRecord& job, TopologyPlacer* topology);

  /// The verdict that Assign with these two arguments would come to, on integers alone; no
  /// allocation for a choice seen before. Not for second passes, slices and recomputations.
  QuickVerdict Choose(const Usage& usage, const ScanPosition* resume);
  /// The whole answer for `job`, one of the plan's class. Whoever is told the same as the one
  /// before shares its answer: most of those that do not fit are.
  AssignmentPtr Assign(const Usage& usage, const JobRecord& job, const AssignRequest& request);

  /// -1 if the tree does not know the ClusterQueue.
  NodeIndex queue() const { return queue_; }
  const Demand& demand() const { return demand_; }
  /// True if some pod set asks for machines, so that only Assign can say that it fits.
  bool needs_topology() const { return needs_topology_; }

 private:
  friend class FlavorWalk;
  friend class FlavorReport;

  /// The choice that the last walk of Choose came to, from the buffers.
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
  std::vector<std::int16_t> options_;  // buffers of Choose and Assign
  Charges assumed_;
  FlavorTrace trace_;        // buffer of Assign
  FlavorTrace last_trace_;   // of the last one that may be shared
  AssignmentPtr last_said_;  // null: none
};

}  // namespace muster::core
