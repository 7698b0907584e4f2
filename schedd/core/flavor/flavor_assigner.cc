// The demand of a workload and the search for callers that keep no FlavorPlan.
//
// The demand of a waiting workload is its declared count less reclaimable pods (rule A10). That of
// a workload with a reservation is what the reservation charged: it may have been admitted with
// fewer pods (partial admission), and its requests may have been transformed (rule A5).
#include "schedd/core/flavor/flavor_assigner.h"

#include <algorithm>

#include "schedd/base/quantity.h"
#include "schedd/core/flavor/flavor_plan.h"

namespace muster::core {
namespace {

// The pods of the pod set that will not run any more (rule A10); 0 if none are recorded.
std::int32_t Reclaimable(const JobRecord& job, const std::string& pod_set) {
  if (job.admission_state == nullptr) return 0;
  for (const auto& pods : job.admission_state->reclaimable) {
    if (pods.pod_set == pod_set) return pods.count;
  }
  return 0;
}

// Takes count and requests per pod from a reservation, which stores the requests of all its pods.
void TakeReservation(const PodSetAssignment& reserved, PodSetDemand* demand) {
  demand->count = reserved.count;
  demand->per_pod = reserved.usage;
  for (auto& [resource, amount] : demand->per_pod) {
    if (reserved.count > 0 && amount != kUnlimited) amount /= reserved.count;
  }
}

}  // namespace

Demand DemandOf(const JobRecord& job, const AdmissionSettings& settings) {
  Demand demand;
  if (job.pod_sets == nullptr) return demand;
  for (const PodSet& pod_set : *job.pod_sets) {
    PodSetDemand& entry = demand.emplace_back();
    entry.pod_set = &pod_set;
    const PodSetAssignment* reserved =
        job.admission == nullptr ? nullptr : job.admission->Find(pod_set.name);
    if (reserved != nullptr) {
      TakeReservation(*reserved, &entry);
    } else {
      entry.count = pod_set.count;
      entry.per_pod = pod_set.requests;
    }
    // Pods that have succeeded are not asked for again (gate ReclaimablePods).
    if (settings.reclaimable_pods) {
      entry.count = std::max(0, entry.count - Reclaimable(job, pod_set.name));
    }
  }
  return demand;
}

Preemptor PreemptorOf(NodeIndex queue, const AdmissionSettings& settings, const JobRecord& job) {
  return {&job, queue, EffectivePriority(job, settings), QueueTime(job, settings)};
}

Preemptor PreemptorOf(const QuotaTree& tree, const AdmissionSettings& settings,
                      const JobRecord& job) {
  return PreemptorOf(tree.ClusterQueueIndex(job.cluster_queue), settings, job);
}

FlavorPins PinsOf(const Assignment& assignment) {
  FlavorPins pins;
  for (const auto& pod_set : assignment.pod_sets) {
    for (const auto& [resource, flavor] : pod_set.flavors) {
      pins[pod_set.name][resource] = flavor.flavor;
    }
  }
  return pins;
}

Assignment AssignFlavors(const ConfigView& config, const AdmissionSettings& settings,
                         const Usage& usage, const ClusterQueue& queue, const JobRecord& job,
                         TopologyPlacer* topology, const AssignRequest& request) {
  FlavorPlan plan(config, settings, usage.tree(), queue, job, topology);
  if (plan.queue() >= 0) return *plan.Assign(usage, job, request);
  Assignment assignment;
  assignment.no_fit_reason = Reason::kMisconfigured;
  return assignment;
}

// For a slice, the count is the growth over the replaced slice.
Charges TotalRequests(const QuotaTree& tree, const Demand& demand, const Assignment& assignment,
                      const Admission* replaced) {
  Charges wanted;
  for (const PodSetDemand& entry : demand) {
    const PodSetFlavors* found = assignment.Find(entry.pod_set->name);
    if (found == nullptr) continue;
    std::int32_t count = found->count;
    if (replaced != nullptr) {
      const PodSetAssignment* before = replaced->Find(entry.pod_set->name);
      count = entry.count - (before == nullptr ? 0 : before->count);
    }
    for (const auto& [resource, flavor] : found->flavors) {
      // A pod counts as one of `pods`, whatever its template says.
      const std::int64_t per_pod = resource == "pods" ? 1 : AmountOf(entry.per_pod, resource);
      const std::int64_t amount = SaturatingMul(per_pod, count);
      if (amount != 0) AddCharge(tree.PairIndex(flavor.flavor, resource), amount, &wanted);
    }
  }
  return wanted;
}

}  // namespace muster::core
