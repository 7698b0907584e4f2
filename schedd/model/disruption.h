// Leaving a member: what an eviction object asks for and what a disruption budget keeps running
// (placement.md 1.12). Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace muster {

/// A number of jobs, or a percentage of them, rounded up.
struct DisruptionLimit {
  std::int32_t value = 0;
  bool percent = false;
  bool operator==(const DisruptionLimit&) const = default;
};

/// ClusterResourcePlacementDisruptionBudget and ResourcePlacementDisruptionBudget: has the name
/// (and namespace) of the placement whose jobs it protects.
struct DisruptionBudget {
  std::string ns;  // "": of a ClusterResourcePlacement
  std::string name;
  std::optional<DisruptionLimit> max_unavailable, min_available;  // one of them
  bool operator==(const DisruptionBudget&) const = default;
};

/// ClusterResourcePlacementEviction and ResourcePlacementEviction: takes the jobs of a placement
/// off one member, once.
struct PlacementEviction {
  std::string ns;  // "": of a ClusterResourcePlacement
  std::string name;
  std::string placement, cluster;
  bool over = false;  // its status says what became of it
};

}  // namespace muster
