// TopologyUsage: what admitted pods take of each leaf; TopologyCharges: what one admission takes,
// compiled once so that charging, releasing and checking are additions (rule A44).
//
// Plain values, bound to the TopologyForest they were made for; not thread-safe to mutate.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "schedd/core/topology/topology_forest.h"
#include "schedd/model/workload.h"

namespace muster::core {

/// An amount of one resource on one leaf.
struct TopologyCharge {
  std::int32_t at = 0;        // where TopologyUsage keeps it
  std::int64_t amount = 0;    // of all pods there
  std::int64_t capacity = 0;  // of the leaf, in the flavor's own tree
  bool operator==(const TopologyCharge&) const = default;
};

struct TopologyCharges {
  std::vector<TopologyCharge> list;  // sorted by `at`, each once
  bool stale = false;  // some of it is on leaves that the tree does not have (any more)
  bool empty() const { return list.empty() && !stale; }
  bool operator==(const TopologyCharges&) const = default;
};

/// What one pod of a pod set asks of its machine.
inline const ResourceList& NodeRequestsOf(const PodSet& pod_set) {
  return pod_set.node_requests != nullptr ? *pod_set.node_requests : pod_set.requests;
}

/// What an admission takes: for every pod of a topology assignment the requests of its pod set (by
/// name, in `pod_sets`) and one of "pods". `cluster` is the member cluster it runs on; "": the
/// first that has its leaves.
TopologyCharges ChargesOn(const TopologyForest& forest, const PodSets& pod_sets,
                          const Admission& admission, std::string_view cluster);

/// What `after` takes beyond `before`: what a second pass has to find room for.
TopologyCharges NetCharges(const TopologyCharges& after, const TopologyCharges& before);

class TopologyUsage {
 public:
  TopologyUsage() = default;
  explicit TopologyUsage(TopologyForestPtr forest);
  const TopologyForestPtr& forest() const { return forest_; }

  void Charge(const TopologyCharges& charges);
  void Release(const TopologyCharges& charges);
  /// True if all of it is free now. False for stale charges.
  bool Fits(const TopologyCharges& charges) const;
  /// Amounts by resource of the forest.
  const std::int64_t* At(std::int32_t slot) const {
    return amounts_.data() + static_cast<std::size_t>(slot) * resources_;
  }
  bool operator==(const TopologyUsage& other) const { return amounts_ == other.amounts_; }

 private:
  TopologyForestPtr forest_;
  std::size_t resources_ = 0;
  std::vector<std::int64_t> amounts_;  // slot-major
};

}  // namespace muster::core
