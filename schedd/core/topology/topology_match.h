// Which machines of a tree may take the pods of a pod set, capacity aside: taints, node selector
// and affinity, checked per machine if machines are the lowest level (rule A44). Pure.
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

/// The numbers of machines that were left out, by reason, for the failure message.
struct MachineExclusions {
  std::int32_t node_selector = 0, affinity = 0;
  std::map<std::string, std::int32_t> taints;  // by "key=value:Effect"
};

/// The leaves that suit a pod set.
struct LeafMatch {
  std::vector<std::uint8_t> eligible;  // by leaf; empty: all are eligible
  std::vector<std::int64_t> score;     // by leaf: weights of the preferred terms; empty: all 0
  MachineExclusions excluded;
};

/// The constraints of the pods, with the updates by admission checks merged in; null if there are
/// none. If node selectors contradict each other, `*error` gets the sentence.
std::shared_ptr<const SchedulingConstraints> MergedConstraints(
    const PodSet& pod_set, std::span<const AdmissionCheckStatus> checks, std::string* error);

/// `constraints` may be null. `respect_preferred`: gate TASRespectNodeAffinityPreferred.
LeafMatch MatchLeaves(const TopologyTree& tree, const SchedulingConstraints* constraints,
                      bool respect_preferred);

/// MatchLeaves with a cache of the last constraints, compared by content. Not thread-safe.
class LeafMatcher {
 public:
  /// Valid until the next call.
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
  std::size_t next_ = 0;  // the entry that is overwritten next once all are used
};

}  // namespace muster::core
