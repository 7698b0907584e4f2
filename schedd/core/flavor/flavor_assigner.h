// Flavor assignment of one workload against a usage (rule A27): what quota sees of it, what the
// search may be told, and the search itself. Pure.
//
// FlavorPlan (flavor_plan.h) is the same compiled once per class of equal workloads: its Choose
// decides what fits or plainly does not without building a sentence, its Assign gives all of it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "schedd/core/plan/assignment.h"
#include "schedd/core/preempt/preemption.h"
#include "schedd/core/quota/quota_tree.h"
#include "schedd/core/topology/topology_placer.h"
#include "schedd/model/admission_settings.h"
#include "schedd/model/config.h"
#include "schedd/model/job.h"

namespace muster::core {

/// The pods of one pod set as quota counts them.
struct PodSetDemand {
  const PodSet* pod_set = nullptr;
  std::int32_t count = 0;  // declared less those given back (KEP-78)
  ResourceList per_pod;    // of quota, not of machines (rule A5)
};
using Demand = std::vector<PodSetDemand>;

/// What quota counts of a workload that waits. Points into `job.pod_sets`, which must outlive it.
Demand DemandOf(const JobRecord& job, const AdmissionSettings& settings);

/// `job` as one that wants room in its ClusterQueue, which is this node of the tree.
Preemptor PreemptorOf(NodeIndex queue, const AdmissionSettings& settings, const JobRecord& job);
Preemptor PreemptorOf(const QuotaTree& tree, const AdmissionSettings& settings,
                      const JobRecord& job);

/// The only flavors that a search may take again, by pod set name and resource (rule A23, step b).
using FlavorPins = std::map<std::string, std::map<std::string, std::string>>;
FlavorPins PinsOf(const Assignment& assignment);

/// One flavor tried for one resource of one pod set, in numbers, for `explain`.
struct FlavorVerdict {
  std::string pod_set, flavor, resource;  // resource "" when the flavor itself does not match
  Reason reason = Reason::kNone;
  std::string message;
  std::int64_t requested = 0, available = 0, potential = 0, used = 0, nominal = 0;
};

/// What one search is given beside usage and job. All of it may be left out; pointers must outlive
/// the call.
struct AssignRequest {
  PreemptionOracle* oracle = nullptr;  // null: as if nobody could be preempted
  /// Where the last search of this workload ended; it goes on behind it.
  const ScanPosition* resume = nullptr;
  /// Pods by pod set instead of the demand's counts: partial admission (rule A34).
  std::span<const std::int32_t> counts;
  /// Elastic: the reservation of the slice that is replaced; only the difference is charged.
  const Admission* replaced = nullptr;
  const FlavorPins* pins = nullptr;
  std::vector<FlavorVerdict>* verdicts = nullptr;  // filled if not null
};

/// Decides flavors for `job` in `queue`, without a plan to keep. A job that holds a reservation
/// (second pass) keeps its flavors. `topology` null: no flavor knows its machines. A queue that the
/// usage's tree does not know gets no pod sets, reason kMisconfigured.
Assignment AssignFlavors(const ConfigView& config, const AdmissionSettings& settings,
                         const Usage& usage, const ClusterQueue& queue, const JobRecord& job,
                         TopologyPlacer* topology, const AssignRequest& request);

/// What a victim search has to find room for (rules A37, A41): all that the assignment needs, less
/// what the replaced slice holds; nothing of a resource that got no flavor.
Charges TotalRequests(const QuotaTree& tree, const Demand& demand, const Assignment& assignment,
                      const Admission* replaced);

}  // namespace muster::core
