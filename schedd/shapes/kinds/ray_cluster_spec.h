// The spec of a RayCluster, alone or inside a RayJob: pod sets `head` and one per worker group
// (rule A6).
#pragma once

#include "schedd/shapes/kinds/shape_ops.h"

namespace muster::shapes {

/// Checks the spec and appends its pod sets. A worker group without pods makes none.
void ReadRayClusterSpec(const Field& spec, PodSets* pod_sets);

void VisitRayClusterTemplates(json::object& spec, const TemplateVisitor& visit);

/// Writes the counts that admission relied on where the member's own defaults differ, and removes
/// managedBy and suspend.
void PrepareRayClusterSpec(json::object& spec);

}  // namespace muster::shapes
