// Topology after quota (rule A32; KEP-2724).
//
// Before the scan, Mismatch refuses flavors that do not suit a pod set's topology request. After
// quota was found, Place asks the placer twice at most:
//
// 1. If quota fits: on what is free now. If that fails, the mode becomes kPreempt, because
//    evictions may free machines.
// 2. In mode kPreempt: as if no placed workload ran. If that fails as well, no eviction could help,
//    and the mode is kNoFit with TopologyPlacementFailed. If it succeeds, all placed pod sets
//    become kPreempt, so that victims are sought on all their flavors.
//
// A workload with a failed machine (rule A48) takes only step 1: its pods move to free machines or
// not at all.
#include "schedd/core/flavor/flavor_topology.h"

#include <algorithm>
#include <set>

#include "schedd/model/admission_lifecycle.h"

namespace muster::core {
namespace {

constexpr const char* kMultiKueue = "kueue.x-k8s.io/multikueue";
constexpr const char* kProvisioning = "kueue.x-k8s.io/provisioning-request";

PodSetFlavors* FindPodSet(Assignment* assignment, const std::string& name) {
  for (auto& pod_set : assignment->pod_sets) {
    if (pod_set.name == name) return &pod_set;
  }
  return nullptr;
}

// Sets the mode of all resources of a pod set.
void SetMode(PodSetFlavors* pod_set, FlavorMode mode) {
  for (auto& [resource, flavor] : pod_set->flavors) flavor.mode = mode;
}

// The machines that a reservation gave to a pod set; null if it has no such pod set.
const TopologyAssignmentPtr* ReservedTopology(const Admission* admission, const std::string& name) {
  if (admission == nullptr) return nullptr;
  for (const auto& pod_set : admission->pod_sets) {
    if (pod_set.name == name) return &pod_set.topology;
  }
  return nullptr;
}

}  // namespace

bool RequestsTopology(const PodSet& pod_set) {
  const TopologyRequest* request = pod_set.topology.get();
  return request != nullptr && (request->required || request->preferred || request->unconstrained ||
                                request->slice_required || !request->slice_layers.empty());
}

QueueTopology::QueueTopology(const ConfigView& config, const AdmissionSettings& settings,
                             const ClusterQueue& queue, TopologyPlacer* placer)
    : config_(config), settings_(settings), queue_(queue), placer_(placer) {
  if (!settings.tas) return;
  bool others = false;
  for (const auto& group : queue.resource_groups) {
    for (const auto& entry : group.flavors) {
      const auto flavor = config.flavors.find(entry.flavor);
      const bool has = flavor != config.flavors.end() && !flavor->second.topology.empty();
      only_ = only_ || has;
      others = others || !has;
      any_ = any_ || Knows(entry.flavor);
    }
  }
  only_ = only_ && !others;
}

bool QueueTopology::Concerns(const PodSet& pod_set) const {
  return settings_.tas && (only_ || RequestsTopology(pod_set));
}

bool QueueTopology::Knows(const std::string& flavor) const {
  return placer_ != nullptr && placer_->Knows(flavor);
}

std::string QueueTopology::Mismatch(const PodSet& pod_set, const ResourceFlavor& flavor,
                                    const ResourceGroup& group) const {
  if (!settings_.tas) return "";
  const std::string name = "Flavor \"" + flavor.name + "\" ";
  if (!RequestsTopology(pod_set)) {
    if (only_ || flavor.topology.empty()) return "";
    return name + "supports only TopologyAwareScheduling";
  }
  if (flavor.topology.empty()) {
    // A flavor without topology may serve resources that the pods themselves do not ask for
    // (results of a transformation, rule A5).
    const auto& covered = group.covered_resources;
    const auto& wanted = pod_set.node_requests ? *pod_set.node_requests : pod_set.requests;
    const bool overlaps =
        std::any_of(wanted.begin(), wanted.end(), [&](const ResourceAmount& request) {
          return std::find(covered.begin(), covered.end(), request.resource) != covered.end();
        });
    return overlaps ? name + "does not support TopologyAwareScheduling" : "";
  }
  if (!Knows(flavor.name)) return name + "information missing in TAS cache";
  if (!placer_->HasLevels(flavor.name, *pod_set.topology)) {
    return name + "does not contain the requested level";
  }
  return "";
}

std::string QueueTopology::SoleFlavor(const PodSetFlavors& pod_set, std::string* error) const {
  std::set<std::string> known;
  for (const auto& [resource, flavor] : pod_set.flavors) {
    if (Knows(flavor.flavor)) known.insert(flavor.flavor);
  }
  if (known.size() == 1) return *known.begin();
  *error = known.empty() ? "no TAS flavor assigned" : "more than one TAS flavor assigned: ";
  for (const auto& flavor : known) {
    if (flavor != *known.begin()) *error += ", ";
    *error += flavor;
  }
  return "";
}

// Placement waits while a MultiKueue check picks the cluster, or until a ProvisioningRequest has
// made the machines.
bool QueueTopology::Delayed(const JobRecord& job, const std::string& flavor) const {
  for (const auto& rule : queue_.admission_checks) {
    const auto check = config_.admission_checks.find(rule.name);
    if (check == config_.admission_checks.end()) continue;
    if (check->second.controller == kMultiKueue) return true;
    if (check->second.controller != kProvisioning || job.admission != nullptr) continue;
    const auto& on = rule.on_flavors;
    if (on.empty() || std::find(on.begin(), on.end(), flavor) != on.end()) return true;
  }
  return false;
}

// Pod sets whose machines are assigned already and healthy are left out.
std::vector<TopologyAsk> QueueTopology::Asks(const JobRecord& job, const Demand& demand,
                                             const AssignRequest& request,
                                             Assignment* assignment) const {
  std::vector<TopologyAsk> asks;
  const bool elastic = job.elastic && settings_.elastic_jobs && settings_.elastic_jobs_with_tas;
  for (std::size_t i = 0; i < demand.size(); ++i) {
    const PodSet& spec = *demand[i].pod_set;
    if (!Concerns(spec)) continue;
    PodSetFlavors& pod_set = *FindPodSet(assignment, spec.name);
    if (!pod_set.error.empty() || pod_set.count == 0) continue;
    if (pod_set.topology != nullptr && !StandsOnUnhealthyNode(job, *pod_set.topology)) continue;
    TopologyAsk ask;
    if (elastic) {
      if (spec.topology != nullptr && (spec.topology->required || spec.topology->preferred)) {
        pod_set.error = std::string(spec.topology->required ? "required" : "preferred") +
                        " topology is not supported with ElasticJobsViaWorkloadSlices";
        continue;
      }
      const auto* previous = ReservedTopology(request.replaced, spec.name);
      if (previous != nullptr) ask.previous = *previous;
    }
    if (!any_) {
      pod_set.error = "workload requires Topology, but there is no TAS cache information";
      continue;
    }
    ask.flavor = SoleFlavor(pod_set, &pod_set.error);
    if (ask.flavor.empty()) continue;
    if (Delayed(job, ask.flavor)) {
      pod_set.topology_delayed = true;
      continue;
    }
    ask.pod_set = i;
    ask.spec = &spec;
    ask.count = pod_set.count;
    ask.implied = !RequestsTopology(spec);
    asks.push_back(std::move(ask));
  }
  return asks;
}

void QueueTopology::Place(const JobRecord& job, const Demand& demand, const AssignRequest& request,
                          Assignment* assignment) const {
  if (!settings_.tas) return;
  const auto asks = Asks(job, demand, request, assignment);
  if (asks.empty()) return;
  const auto pod_set_at = [&](std::size_t index) {
    return FindPodSet(assignment, demand[index].pod_set->name);
  };
  if (assignment->Mode() == FlavorMode::kFit) {
    const TopologyPlacement now = placer_->Place(job, asks, false);
    if (now.failed) {
      PodSetFlavors* failed = pod_set_at(now.failed_pod_set);
      failed->reasons.push_back(now.failure);
      SetMode(failed, FlavorMode::kPreempt);
      assignment->topology_mode = FlavorMode::kPreempt;
    }
    for (const auto& [index, topology] : now.placed) {
      if (now.failed) break;
      assignment->cluster = now.cluster;
      PodSetFlavors* placed = pod_set_at(index);
      placed->topology = topology;
      placed->topology_delayed = false;
    }
  }
  // A failed machine is replaced by a free one or not at all; nobody is evicted for it.
  if (assignment->Mode() != FlavorMode::kPreempt || HasPodsOnUnhealthyNode(job)) return;
  const TopologyPlacement empty = placer_->Place(job, asks, true);
  if (empty.failed) {
    PodSetFlavors* failed = pod_set_at(empty.failed_pod_set);
    for (auto& attempt : failed->attempts) {
      if (attempt.flavor != empty.failed_flavor) continue;
      attempt.mode = FlavorMode::kNoFit;
      attempt.no_fit_reason = Reason::kTopologyPlacementFailed;
    }
    SetMode(failed, FlavorMode::kNoFit);
    assignment->topology_mode = FlavorMode::kNoFit;
    return;
  }
  // Quota may be free and yet scattered over the machines: victims are sought for all placements.
  for (const auto& ask : asks) SetMode(pod_set_at(ask.pod_set), FlavorMode::kPreempt);
  assignment->topology_mode = FlavorMode::kPreempt;
}

}  // namespace muster::core
