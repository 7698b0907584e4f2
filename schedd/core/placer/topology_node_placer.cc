// NodePlacer: tries member after member until all pod sets of a workload have a place on one of
// them.
//
// A workload runs on one member, so each try (PlacementRun) must place every pod set there. A job
// that holds machines is bound to its member. Otherwise members come in the order of the placement
// that governs the job (rule P11), and a member on which all replaced slices stand comes first,
// because an elastic job grows where it runs.
#include "schedd/core/placer/topology_node_placer.h"

#include <algorithm>
#include <utility>

#include "schedd/core/placer/topology_run.h"
#include "schedd/core/topology/topology_assignment.h"

namespace muster::core {
namespace {

// True if the job's reservation names machines.
bool HoldsTopology(const JobRecord& job) {
  if (job.admission == nullptr) return false;
  const auto& pod_sets = job.admission->pod_sets;
  return std::any_of(pod_sets.begin(), pod_sets.end(),
                     [](const PodSetAssignment& held) { return held.topology != nullptr; });
}

// True if all slices that are to be replaced stand on this member.
bool HoldsPrevious(const TopologyForest& forest, std::size_t cluster,
                   std::span<const TopologyAsk> asks) {
  return std::all_of(asks.begin(), asks.end(), [&](const TopologyAsk& ask) {
    if (ask.previous == nullptr) return true;
    const auto* tree = forest.Tree(cluster, ask.flavor);
    return tree != nullptr && StaleDomain(*tree, *ask.previous) == nullptr;
  });
}

}  // namespace

NodePlacer::NodePlacer(const TopologyUsage* usage, const AdmissionSettings& settings)
    : usage_(*usage), settings_(settings) {}

bool NodePlacer::Knows(const std::string& flavor) const {
  return usage_.forest()->AnyTree(flavor) != nullptr;
}

bool NodePlacer::HasLevels(const std::string& flavor, const TopologyRequest& request) const {
  const auto* tree = usage_.forest()->AnyTree(flavor);
  return tree != nullptr && core::HasLevels(*tree, request, settings_);
}

TopologyPlacement NodePlacer::Place(const JobRecord& job, std::span<const TopologyAsk> asks,
                                    bool simulate_empty) {
  return Run(job, asks, simulate_empty, false);
}

bool NodePlacer::CanPlace(const JobRecord& job, std::span<const TopologyAsk> asks) {
  return !Run(job, asks, false, true).failed;
}

// If no member is tried at all, the failure says why there is none.
TopologyPlacement NodePlacer::Run(const JobRecord& job, std::span<const TopologyAsk> asks,
                                  bool simulate_empty, bool only_whether) {
  if (assumed_.forest() != usage_.forest()) {
    assumed_ = TopologyUsage(usage_.forest());
    // The matcher caches by the address of trees, which are other objects now.
    matcher_ = {};
  }
  TopologyPlacement first_failure;
  const bool bound = HoldsTopology(job) && !job.cluster.empty();
  const MemberOrder* order = bound || order_of_ == nullptr ? nullptr : order_of_(job);
  for (const std::size_t cluster : ClustersFor(job, asks, order)) {
    PlacementRun run(this, job, asks, {cluster, simulate_empty, only_whether});
    if (run.PlaceAll()) return run.Take();
    if (!first_failure.failed) first_failure = run.Take();
  }
  if (!first_failure.failed && !asks.empty()) {
    first_failure.failed = true;
    first_failure.failed_pod_set = asks[0].pod_set;
    first_failure.failed_flavor = asks[0].flavor;
    first_failure.failure = HoldsTopology(job)
                                ? "member cluster \"" + job.cluster + "\" is not known any more"
                                : "no member cluster is open for new pods";
    if (order != nullptr && !order->refused.empty()) {
      first_failure.failure += " of this job: " + order->refused;
    }
  }
  return first_failure;
}

std::vector<std::size_t> NodePlacer::ClustersFor(const JobRecord& job,
                                                 std::span<const TopologyAsk> asks,
                                                 const MemberOrder* order) const {
  const TopologyForest& forest = *usage_.forest();
  std::vector<std::size_t> clusters;
  const bool bound = HoldsTopology(job) && !job.cluster.empty();
  for (std::size_t i = 0; i < forest.cluster_count(); ++i) {
    if (bound ? forest.cluster_name(i) == job.cluster : forest.IsOpen(i)) clusters.push_back(i);
  }
  if (order != nullptr) {
    std::vector<std::size_t> ordered;
    for (const std::string& name : order->members) {
      const auto found = std::find_if(clusters.begin(), clusters.end(), [&](std::size_t cluster) {
        return forest.cluster_name(cluster) == name;
      });
      if (found != clusters.end()) ordered.push_back(*found);
    }
    clusters = std::move(ordered);
  }
  std::stable_partition(clusters.begin(), clusters.end(),
                        [&](std::size_t cluster) { return HoldsPrevious(forest, cluster, asks); });
  return clusters;
}

}  // namespace muster::core
