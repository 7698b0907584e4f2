// Disruption of placements: what an eviction object asks for, and what a disruption budget keeps
// running (rules P30, P31). Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schedd/base/time.h"

namespace muster {

/// A number of jobs or of members, or a percentage of them, rounded up.
struct DisruptionLimit {
  std::int32_t value = 0;
  bool percent = false;
  bool operator==(const DisruptionLimit&) const = default;
};

/// ClusterResourcePlacementDisruptionBudget and ResourcePlacementDisruptionBudget. It has the name
/// (and namespace) of the placement that it protects: the placement's running jobs, and the members
/// that have its configuration objects.
struct DisruptionBudget {
  std::string ns;  // "": of a ClusterResourcePlacement
  std::string name;
  /// One of them is set.
  std::optional<DisruptionLimit> max_unavailable, min_available;
  bool operator==(const DisruptionBudget&) const = default;
};

/// ClusterResourcePlacementEviction and ResourcePlacementEviction: takes the jobs and the
/// configuration objects of a placement off one member, once.
struct PlacementEviction {
  std::string ns;  // "": of a ClusterResourcePlacement
  std::string name;
  std::string placement, cluster;
  /// Its status says what became of it.
  bool over = false;
  /// When it was carried out; unset: it was not. Picks of the member before this time end.
  WallTime executed_at;
};

}  // namespace muster
