// TopologyUsage: what admitted pods take of each leaf. TopologyCharges: what one admission takes,
// computed once so that charging, releasing and checking are additions (rule A44).
//
// Plain values, bound to the TopologyForest that they were made for; not thread-safe to mutate.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "schedd/core/topology/topology_forest.h"
#include "schedd/model/workload.h"

namespace muster::core {

/// An amount of one resource on one leaf.
struct TopologyCharge {
  std::int32_t at = 0;        // its position in TopologyUsage
  std::int64_t amount = 0;    // of all pods on the leaf
  std::int64_t capacity = 0;  // the leaf's capacity in the flavor's own tree
  bool operator==(const TopologyCharge&) const = default;
};

struct TopologyCharges {
  std::vector<TopologyCharge> list;  // sorted by `at`, each position once
  bool stale = false;                // some pods are on leaves that the tree does not have any more
  bool empty() const { return list.empty() && !stale; }
  bool operator==(const TopologyCharges&) const = default;
};

/// The request of one pod for its machine (rule A5).
inline const ResourceList& NodeRequestsOf(const PodSet& pod_set) {
  return pod_set.node_requests != nullptr ? *pod_set.node_requests : pod_set.requests;
}

/// What an admission takes of the machines: for each pod of a topology assignment the requests of
/// its pod set (found by name in `pod_sets`) and one of "pods". `cluster`: the member cluster that
/// it runs on; "": the first one that has its leaves.
TopologyCharges ChargesOn(const TopologyForest& forest, const PodSets& pod_sets,
                          const Admission& admission, std::string_view cluster);

/// What `after` takes beyond `before`: the room that a second pass needs.
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
  std::vector<std::int64_t> amounts_;  // by slot, then resource
};

}  // namespace muster::core
