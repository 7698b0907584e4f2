// Where pods may run, in manifests of any kind: node selectors, node affinity, tolerations, taints
// and maps of labels. Checked by the rules of the Kubernetes API (rule A28).
//
// Pure.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "schedd/model/workload.h"
#include "schedd/shapes/parts/field.h"

namespace muster::shapes {

/// nodeSelector, node affinity and tolerations of a pod spec; null if it has none of them.
std::shared_ptr<const SchedulingConstraints> ReadConstraints(const Field& pod_spec);

/// Taints of a flavor, a member cluster or a node.
std::vector<Taint> ReadTaints(const Field& taints);
/// Tolerations of a pod, a flavor or a placement.
std::vector<Toleration> ReadTolerations(const Field& tolerations);
/// A map of label keys to label values.
LabelMap ReadLabelMap(const Field& labels);

}  // namespace muster::shapes
