// The labels and annotations by which namespaces and queues say what their jobs may do (rules U71
// to U75). Pure.
#pragma once

#include <optional>

#include "schedd/model/tenancy.h"
#include "schedd/shapes/parts/field.h"

namespace muster::shapes {

/// Reads a Namespace's metadata. Malformed values are problems.
NamespaceTenancy ReadNamespaceTenancy(const Field& metadata);

/// Annotation muster.io/pod-security of a ClusterQueue; unset if it is absent.
std::optional<PodSecurityLevel> ReadPodSecurityAnnotation(const Field& annotations);

}  // namespace muster::shapes
