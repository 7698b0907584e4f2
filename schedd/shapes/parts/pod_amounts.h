// How the amount that one pod reserves is computed from what its containers ask for: overhead of
// the RuntimeClass, defaults of LimitRanges, limits in place of missing requests, and the effective
// request (rule A5; KEP-2937 for transformations).
//
// Pure functions over plain values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedd/model/config.h"
#include "schedd/model/workload.h"
#include "schedd/shapes/parts/field.h"

namespace muster::shapes {

/// What one container asks for.
struct ContainerAmounts {
  ResourceList requests, limits;
  bool sidecar = false;  // an init container with restartPolicy Always: it keeps running
  bool operator==(const ContainerAmounts&) const = default;
};

/// What a pod template asks for.
struct PodAmounts {
  std::vector<ContainerAmounts> init_containers, containers;
  std::optional<ContainerAmounts> pod;  // spec.resources: replaces the sum over the containers
  ResourceList overhead;
  std::string runtime_class;
  bool operator==(const PodAmounts&) const = default;
};

/// The LimitRanges of one namespace taken together: the tightest bounds, and the default of the
/// first LimitRange by name.
struct LimitSummary {
  LimitRange::Item container, pod;
  bool empty() const;  // no bounds and no defaults
};
LimitSummary SummaryOf(const ConfigView& config, const std::string& ns);

/// Fills in what the API server fills into a LimitRange: the default limit from max, the default
/// request from the default limit, then from min. For containers only.
void CompleteDefaults(LimitRange* range);

/// Adds the overhead of the pod's RuntimeClass, if the pod has none of its own and the class is
/// known.
void AddOverhead(const ConfigView& config, PodAmounts* pod);
/// Adds the defaults of containers, and those of the pod if it has pod-level resources.
void AddDefaults(const LimitSummary& limits, PodAmounts* pod);
/// Copies a limit to a missing request.
void CopyLimits(PodAmounts* pod);

/// The request of one pod: the larger of init containers and containers, where sidecars count to
/// both; replaced by pod-level requests; plus overhead.
ResourceList EffectiveRequest(const PodAmounts& pod);

/// Requests that exceed their limits, as sentences in Kueue's form
/// ("spec.podSets[0].template.spec.containers[0]: Invalid value: [\"cpu\"]: requests must not
/// exceed its limits").
std::vector<std::string> RequestsAboveLimits(const std::vector<PodAmounts>& pods);
/// The same for the bounds of LimitRanges: for each pod the containers first, then the pod.
std::vector<std::string> OutsideLimitRange(const LimitSummary& limits,
                                           const std::vector<PodAmounts>& pods);

/// Why a job with these pods may not be admitted: the message of condition QuotaReserved with
/// reason Misconfigured. "" if nothing is wrong.
std::string ResourceProblem(const LimitSummary& limits, const std::vector<PodAmounts>& pods);

}  // namespace muster::shapes
