// What a pod set asks of the topology: a Workload's topologyRequest, or the annotations
// kueue.x-k8s.io/podset-* of a pod template (rule A43; KEP-2724).
//
// Pure.
#pragma once

#include <memory>

#include "schedd/model/workload.h"
#include "schedd/shapes/parts/field.h"

namespace muster::shapes {

/// spec.podSets[].topologyRequest; null if absent. `count` is the number of pods of the pod set.
std::shared_ptr<const TopologyRequest> ReadTopologyRequest(const Field& request,
                                                           std::int32_t count);

/// The annotations of a pod template's metadata; null if it has none of them.
std::shared_ptr<const TopologyRequest> ReadTopologyAnnotations(const Field& metadata,
                                                               std::int32_t count);

/// Records problems of topology groups at `where`: a group has exactly two pod sets, one of them of
/// a single pod, and both ask for the same required or preferred level.
void CheckTopologyGroups(const Field& where, const PodSets& pod_sets);

}  // namespace muster::shapes
