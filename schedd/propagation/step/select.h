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
  /// Of all objects and their envelopes; "": there are none.
  std::string hash;
  /// Why the selection is not propagated, as a sentence; the last revision stays then.
  std::string obstacle;
};

/// Selectors of jobs are left out: a job is dispatched (core/member/placement_ask). So are Secrets
/// that hold a member's kubeconfig.
Selection SelectResources(const WorldView& world, const Placement& placement);

/// True if any of its selectors may select configuration objects.
bool SelectsObjects(const Placement& placement);

}  // namespace muster::propagation
