// What a pod template asks for, container by container, and how an amount to reserve comes of it:
// overhead of the RuntimeClass, defaults of LimitRanges, limits in place of missing requests, the
// effective request of one pod (rule A5; KEP-2937 for transformations).
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

struct ContainerAmounts {
  ResourceList requests, limits;
  bool sidecar = false;  // an init container that keeps running
  bool operator==(const ContainerAmounts&) const = default;
};

struct PodAmounts {
  std::vector<ContainerAmounts> init_containers, containers;
  std::optional<ContainerAmounts> pod;  // spec.resources: replaces what containers sum up to
  ResourceList overhead;
  std::string runtime_class;
  bool operator==(const PodAmounts&) const = default;
};

/// Reads a pod spec and checks every amount: negative ones, fractions of whole things, requests
/// above limits, claims.
PodAmounts ReadPodAmounts(const Field& pod_spec);

/// The LimitRanges of one namespace taken together: the tightest bounds, the first default by name.
struct LimitSummary {
  LimitRange::Item container, pod;
  bool empty() const;  // nothing is bound or defaulted
};
LimitSummary SummaryOf(const ConfigView& config, const std::string& ns);

/// Fills in what the API server would in a LimitRange that leaves it out: default from max, default
/// request from default, then from min; for containers only.
void CompleteDefaults(LimitRange* range);

/// Overhead of the pod's RuntimeClass, if it has none of its own and the class is known.
void AddOverhead(const ConfigView& config, PodAmounts* pod);
/// Defaults for containers, and for pod-level amounts where a pod has them.
void AddDefaults(const LimitSummary& limits, PodAmounts* pod);
/// A limit stands in for a missing request.
void CopyLimits(PodAmounts* pod);

/// The request of one pod: max(init containers, sum of containers and sidecars), replaced by
/// pod-level requests, plus overhead.
ResourceList EffectiveRequest(const PodAmounts& pod);

/// Sentences in Kueue's form ("spec.podSets[0].template.spec.containers[0]: Invalid value:
/// [\"cpu\"]: requests must not exceed its limits"): requests above limits.
std::vector<std::string> RequestsAboveLimits(const std::vector<PodAmounts>& pods);
/// The same for bounds of LimitRanges: containers, then the whole pod.
std::vector<std::string> OutsideLimitRange(const LimitSummary& limits,
                                           const std::vector<PodAmounts>& pods);

/// Why a job with these pods may not be admitted, as the condition QuotaReserved says it with
/// reason Misconfigured; "" if nothing is wrong.
std::string ResourceProblem(const LimitSummary& limits, const std::vector<PodAmounts>& pods);

}  // namespace muster::shapes
