// The fields that Kubernetes knows in a pod template, as a table.
#pragma once

#include <span>
#include <string_view>

namespace muster::shapes {

struct PodType {
  std::string_view name;    // "Container"
  std::string_view fields;  // "args command env:EnvVar ...", sorted
};

/// Every type that a pod template holds; the first is PodTemplateSpec.
std::span<const PodType> PodTypes();

}  // namespace muster::shapes
