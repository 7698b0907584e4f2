// Which machines of a tree may take the pods of a pod set, capacity aside: taints, node selector
// and affinity, checked per machine where machines are the lowest level (rule A44). Pure.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "schedd/core/topology/topology_forest.h"
#include "schedd/model/admission_state.h"
#include "schedd/model/scheduling.h"
#include "schedd/model/workload.h"

namespace muster::core {

/// Why machines were left out, for the failure message.
struct MachineExclusions {
  std::int32_t node_selector = 0, affinity = 0;
  std::map<std::string, std::int32_t> taints;  // by "key=value:Effect"
};

struct LeafMatch {
  std::vector<std::uint8_t> eligible;  // by leaf; empty: all are
  std::vector<std::int64_t> score;     // by leaf: weights of preferred terms met; empty: all 0
  MachineExclusions excluded;
};

/// What pods say about where they may run, updates by admission checks merged in. Null if nothing.
/// On a conflict of node selectors `*error` says so.
std::shared_ptr<const SchedulingConstraints> MergedConstraints(
    const PodSet& pod_set, std::span<const AdmissionCheckStatus> checks, std::string* error);

/// `constraints` may be null. `respect_preferred`: gate TASRespectNodeAffinityPreferred.
LeafMatch MatchLeaves(const TopologyTree& tree, const SchedulingConstraints* constraints,
                      bool respect_preferred);

/// MatchLeaves with a memory of the last constraints seen, by content. Not thread-safe.
class LeafMatcher {
 public:
  /// Good until the next call.
  const LeafMatch& Match(const TopologyTree& tree,
                         const std::shared_ptr<const SchedulingConstraints>& constraints,
                         bool respect_preferred);

 private:
  struct Entry {
    const TopologyTree* tree = nullptr;
    std::shared_ptr<const SchedulingConstraints> constraints;
    bool respect_preferred = false;
    LeafMatch match;
  };
  static constexpr std::size_t kEntries = 64;
  std::vector<Entry> entries_;
  std::size_t next_ = 0;  // overwritten next once all are used
};

}  // namespace muster::core
