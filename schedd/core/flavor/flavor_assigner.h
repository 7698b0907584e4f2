// Flavor assignment of one workload against a usage (rule A27): the workload's demand as quota
// counts it, the request of a search, and the search itself. Pure.
//
// FlavorPlan (flavor_plan.h) is the same search, compiled once per class of equal workloads: its
// Choose decides the plain cases without building a sentence, its Assign gives the complete answer.
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
  std::int32_t count = 0;  // the declared count less reclaimable pods (KEP-78)
  ResourceList per_pod;    // requests for quota, not for machines (rule A5)
};
using Demand = std::vector<PodSetDemand>;

/// The demand of a waiting workload. Points into `job.pod_sets`, which must outlive it.
Demand DemandOf(const JobRecord& job, const AdmissionSettings& settings);

/// `job` as a preemptor in its ClusterQueue, which is the node `queue` of the tree.
Preemptor PreemptorOf(NodeIndex queue, const AdmissionSettings& settings, const JobRecord& job);
Preemptor PreemptorOf(const QuotaTree& tree, const AdmissionSettings& settings,
                      const JobRecord& job);

/// The only flavors that a new search of a nominated workload may take, by pod set name and
/// resource (rule A23, step b).
using FlavorPins = std::map<std::string, std::map<std::string, std::string>>;
/// The flavors of an assignment as pins.
FlavorPins PinsOf(const Assignment& assignment);

/// How one flavor serves one resource of one pod set, in numbers, for `explain`.
struct FlavorVerdict {
  std::string pod_set, flavor, resource;  // resource "": the flavor itself does not match
  Reason reason = Reason::kNone;
  std::string message;
  std::int64_t requested = 0, available = 0, potential = 0, used = 0, nominal = 0;
};

/// The inputs of one search beside usage and job. All may be left out; pointers must outlive the
/// call.
struct AssignRequest {
  PreemptionOracle* oracle = nullptr;  // null: as if no holder could be preempted
  /// Where the last search of this workload ended; this one goes on behind it.
  const ScanPosition* resume = nullptr;
  /// Pods by pod set in place of the demand's counts: partial admission (rule A34).
  std::span<const std::int32_t> counts;
  /// Elastic jobs: the reservation of the slice that is replaced; only the difference is charged.
  const Admission* replaced = nullptr;
  const FlavorPins* pins = nullptr;
  std::vector<FlavorVerdict>* verdicts = nullptr;  // filled if not null
};

/// Searches flavors for `job` in `queue` with a plan that is used once. A job that holds a
/// reservation (second pass) keeps its flavors. `topology` null: no flavor has known machines. A
/// queue that the usage's tree does not know gets no pod sets and the reason kMisconfigured.
Assignment AssignFlavors(const ConfigView& config, const AdmissionSettings& settings,
                         const Usage& usage, const ClusterQueue& queue, const JobRecord& job,
                         TopologyPlacer* topology, const AssignRequest& request);

/// The requests for which a search for victims must find room (rules A37, A41): all that the
/// assignment needs, less what the replaced slice holds. A resource without a flavor is left out.
Charges TotalRequests(const QuotaTree& tree, const Demand& demand, const Assignment& assignment,
                      const Admission* replaced);

}  // namespace muster::core
