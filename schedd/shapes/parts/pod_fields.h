// The fields that Kubernetes knows in a pod template, as a table.
#pragma once

#include <span>
#include <string_view>

namespace muster::shapes {

/// One type of the API and its fields.
struct PodType {
  std::string_view name;    // "Container"
  std::string_view fields;  // "args command env:EnvVar ...", sorted
};

/// Every type that occurs in a pod template. The first one is PodTemplateSpec.
std::span<const PodType> PodTypes();

}  // namespace muster::shapes
