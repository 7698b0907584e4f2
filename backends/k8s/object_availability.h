// Whether an applied object is at work on its member, by its kind, as KubeFleet judges it
// (rule P27).
//
// Pure function; thread-safe.
#pragma once

#include "schedd/model/resource_ref.h"
#include "schedd/model/work.h"
#include "schedd/text/json.h"

namespace muster::k8s {

/// Deployments, StatefulSets, DaemonSets, Services, CustomResourceDefinitions, Namespaces and
/// PodDisruptionBudgets tell it; plain data is available once it is there; of all others
/// kNotTrackable, Kueue's kinds among them.
ManifestAvailability AvailabilityOf(const ResourceRef& ref, const json::object& object);

}  // namespace muster::k8s
