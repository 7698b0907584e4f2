// SelectResources: the configuration objects that a placement selects (rules P3, P22).
// Pure.
#pragma once

#include <string>
#include <vector>

#include "schedd/world/world_view.h"

namespace muster::propagation {

struct Selection {
  /// In the order in which they are applied: namespaces and priority classes, configuration,
  /// queues, the rest; by kind and name within.
  std::vector<SelectedResource> resources;
  std::string hash;      // of all of it; "": there is none
  std::string obstacle;  // why it is not propagated: a sentence; the last revision stays
};

/// Jobs are left out: each has its own way (core/placement_ask). So are Secrets that hold a
/// member's kubeconfig.
Selection SelectResources(const WorldView& world, const Placement& placement);

/// Any of its selectors may select configuration objects.
bool SelectsObjects(const Placement& placement);

}  // namespace muster::propagation
