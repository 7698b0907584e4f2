// PlacementRun: changes of a placement that exists: a failed node is replaced, an elastic job grows
// or shrinks (rule A48; KEP-2724 and KEP-77).
//
// Replacement: the pods of the failed node are taken out of the assignment and placed anew; the
// others stay. If the topology is required, the new place must be in the same domain. If slices are
// required and the failed node had only a part of one, the new place must be in the domain of the
// broken slice, in pieces as large as the inner layers allow. The result is merged with what
// stayed.
//
// Growth: pods that run stay where they are; only the additional pods are placed. Shrinking drops
// pods from the end of the assignment. If the old assignment names machines that are gone, or does
// not consist of whole slices, the slice is placed afresh.
#include <algorithm>
#include <map>
#include <utility>

#include "schedd/core/placer/topology_run.h"
#include "schedd/core/topology/topology_assignment.h"

namespace muster::core {
namespace {

// The machines that the admission gives to a pod set; null if none.
const TopologyAssignment* HeldBy(const Admission& admission, const std::string& pod_set) {
  for (const auto& held : admission.pod_sets) {
    if (held.name == pod_set) return held.topology.get();
  }
  return nullptr;
}

// Takes the domain of a node out of an assignment. Returns the number of its pods.
std::int32_t TakeOut(TopologyAssignment* assignment, const std::string& node) {
  std::int32_t pods = 0;
  std::erase_if(assignment->domains, [&](const TopologyDomain& domain) {
    const bool hit = domain.values.back() == node;
    if (hit) pods = domain.count;
    return hit;
  });
  return pods;
}

std::vector<TopologyLayer> LayersOf(const TopologyAsk& ask) {
  return ask.spec->topology == nullptr ? std::vector<TopologyLayer>{}
                                       : SliceLayersOf(*ask.spec->topology);
}

// The request for the missing pods of a broken slice: by the innermost layer whose size divides
// their number, else by single pods.
TopologyRequest CompletingRequest(const TopologyRequest& request,
                                  const std::vector<TopologyLayer>& layers, std::int32_t missing) {
  TopologyRequest completing = request;
  completing.slice_layers.clear();
  completing.slice_required.reset();
  completing.slice_size = 1;
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    if (layer->size <= 0 || missing % layer->size != 0) continue;
    completing.slice_required = layer->level;
    completing.slice_size = layer->size;
    break;
  }
  return completing;
}

}  // namespace

bool PlacementRun::ReplaceNode(std::size_t index) {
  const TopologyAsk& ask = asks_[index];
  const TopologyAssignment* held = HeldBy(*job_.admission, ask.spec->name);
  if (held == nullptr) return true;
  // A lone pod cannot be moved, and its workload ends with it: its assignment stays.
  if (placer_.settings_.skip_reassignment_for_pods && job_.admission_state->owned_by_pod) {
    Keep(index, *held);
    return true;
  }
  const TopologyTree& tree = TreeOf(index);
  const std::string& node = job_.admission_state->unhealthy_nodes.front();
  TopologyAssignment kept = *held;
  const std::int32_t missing = TakeOut(&kept, node);
  if (const auto* stale = StaleDomain(tree, kept)) {
    return Fail(index,
                "Cannot replace the node, because the existing topologyAssignment is invalid, as "
                "it contains the stale domain " +
                    stale->values.front());
  }
  const auto layers = LayersOf(ask);
  if (!layers.empty() && layers[0].size <= 0)
    return Fail(index, "slice topology requested, but slice size not provided");
  const DomainIndex within = ReplacementDomain(ask, kept, missing);
  const TopologyRequest* request = ask.spec->topology.get();
  TopologyRequest completing;
  if (within >= 0 && !layers.empty() && missing % layers[0].size != 0) {
    completing = CompletingRequest(*request, layers, missing);
    request = &completing;
  }
  if (!Find(index, kNone, missing, request, within)) return false;
  const auto& leaves = placer_.solver_.workers();
  if (leaves.empty())
    return Fail(index, "cannot find replacement assignment for unhealthy node: " + node);
  if (!options_.only_whether) Keep(index, MergeAssignments(tree, Build(index, leaves), kept));
  Assume(index, leaves);
  return true;
}

// The domain in which the replacement must be: that of the broken slice, or that of the required
// level. -1: anywhere.
DomainIndex PlacementRun::ReplacementDomain(const TopologyAsk& ask, const TopologyAssignment& kept,
                                            std::int32_t missing) const {
  const TopologyTree& tree = TreeOf(static_cast<std::size_t>(&ask - asks_.data()));
  const TopologyRequest* request = ask.spec->topology.get();
  const std::int32_t level = tree.LevelIndex(SearchedLevel(tree, request, ask.implied));
  if (level < 0 || kept.domains.empty()) return -1;
  const auto layers = LayersOf(ask);
  if (!layers.empty() && missing % layers[0].size != 0) {
    for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
      if (layer->size > 0 && missing % layer->size != 0)
        return BrokenSliceDomain(tree, kept, missing, *layer);
    }
  }
  if (request == nullptr || !request->required) return -1;
  return tree.AncestorAt(tree.DomainOf(tree.FindLeaf(kept.domains.front().values)), level);
}

// The first domain of the layer's level whose pods and the missing ones together make whole slices.
DomainIndex PlacementRun::BrokenSliceDomain(const TopologyTree& tree,
                                            const TopologyAssignment& kept, std::int32_t missing,
                                            const TopologyLayer& layer) const {
  const std::int32_t level = tree.LevelIndex(layer.level);
  if (level < 0) return -1;
  std::map<DomainIndex, std::int32_t> pods;
  for (const auto& domain : kept.domains) {
    pods[tree.AncestorAt(tree.DomainOf(tree.FindLeaf(domain.values)), level)] += domain.count;
  }
  const auto broken = std::find_if(pods.begin(), pods.end(), [&](const auto& entry) {
    return (entry.second + missing) % layer.size == 0;
  });
  return broken == pods.end() ? -1 : broken->first;
}

// The leader moves with its workers: it keeps its machine if it has one.
std::optional<bool> PlacementRun::PlaceElastic(const Group& group) {
  const TopologyAsk& workers = asks_[group.workers];
  const TopologyTree& tree = TreeOf(group.workers);
  const auto usable = [&](const TopologyAsk& ask) {
    return ask.previous == nullptr || StaleDomain(tree, *ask.previous) == nullptr;
  };
  if (workers.previous == nullptr || !usable(workers)) return std::nullopt;
  if (group.leader != kNone && !usable(asks_[group.leader])) return std::nullopt;
  const std::int32_t before = CountPods(*workers.previous);
  const auto layers = LayersOf(workers);
  const std::int32_t size = layers.empty() ? 1 : layers[0].size;
  if (size > 1 && (before % size != 0 || workers.count % size != 0)) return std::nullopt;
  if (workers.count > before) return Grow(group, workers.count - before);
  TopologyAssignment kept = TruncateAssignment(*workers.previous, workers.count);
  Assume(group.workers, kept);
  Keep(group.workers, std::move(kept));
  if (group.leader != kNone && asks_[group.leader].previous != nullptr) {
    Assume(group.leader, *asks_[group.leader].previous);
    Keep(group.leader, *asks_[group.leader].previous);
  }
  return true;
}

bool PlacementRun::Grow(const Group& group, std::int32_t more) {
  const TopologyAsk& workers = asks_[group.workers];
  // The search for the new pods must see the old ones, so they are charged in any case.
  const bool later = std::exchange(more_to_place_, true);
  Assume(group.workers, *workers.previous);
  std::size_t new_leader = group.leader;
  if (group.leader != kNone && asks_[group.leader].previous != nullptr) {
    Assume(group.leader, *asks_[group.leader].previous);
    new_leader = kNone;
  }
  more_to_place_ = later;
  if (!Find(group.workers, new_leader, more, workers.spec->topology.get(), -1)) return false;
  const auto& leaves = placer_.solver_.workers();
  Keep(group.workers,
       MergeAssignments(TreeOf(group.workers), Build(group.workers, leaves), *workers.previous));
  Assume(group.workers, leaves);
  if (group.leader == kNone) return true;
  if (new_leader == kNone) {
    Keep(group.leader, *asks_[group.leader].previous);
  } else {
    Keep(group.leader, Build(group.leader, placer_.solver_.leaders()));
    Assume(group.leader, placer_.solver_.leaders());
  }
  return true;
}

void PlacementRun::Assume(std::size_t ask, const TopologyAssignment& assignment) {
  std::vector<LeafCount> leaves;
  for (const auto& domain : assignment.domains) {
    leaves.push_back({TreeOf(ask).FindLeaf(domain.values), domain.count});
  }
  Assume(ask, leaves);
}

}  // namespace muster::core
