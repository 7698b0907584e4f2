// AvailabilityOf: whether an applied object works on its member, by its kind, as KubeFleet judges
// it (rule P27).
//
// Pure function; thread-safe.
#pragma once

#include "schedd/model/resource_ref.h"
#include "schedd/model/work.h"
#include "schedd/text/json.h"

namespace muster::k8s {

/// Deployments, StatefulSets, DaemonSets, Services, CustomResourceDefinitions, Namespaces and
/// PodDisruptionBudgets are judged by their status. Plain data is available once it exists. All
/// other kinds, Kueue's among them, are kNotTrackable.
ManifestAvailability AvailabilityOf(const ResourceRef& ref, const json::object& object);

}  // namespace muster::k8s
