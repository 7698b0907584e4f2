// A pod set's topology request, resolved against one tree: the level to search, slices and their
// layers, and the order of domains (KEP-2724, rule A43). Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "schedd/base/limits.h"
#include "schedd/core/topology/topology_forest.h"
#include "schedd/model/admission_settings.h"
#include "schedd/model/topology.h"

namespace muster::core {

/// A resolved request. Levels are indices of the tree's levels.
struct TopologySpec {
  std::int32_t level = 0;        // the level that is searched first
  std::int32_t slice_level = 0;  // each slice is inside one domain of this level
  std::int64_t slice_size = 1;
  /// By level: the size of the inner slices that its domains take as a whole; 0: single pods.
  std::array<std::int64_t, limits::kTopologyLevels> inner_size = {};
  std::vector<TopologyLayer> layers;  // for the failure message; set if there are inner slices
  bool required = false;              // no other level may be used
  bool unconstrained = false;         // any spread is allowed
  bool least_free = false;            // fill the fullest domains first; false: best fit
};

/// The slices of a request in either of its notations, outermost first. A size of 0: none was
/// given.
std::vector<TopologyLayer> SliceLayersOf(const TopologyRequest& request);

/// True if the tree has every level that the request names; false for a request that names none.
bool HasLevels(const TopologyTree& tree, const TopologyRequest& request,
               const AdmissionSettings& settings);

/// The label key of the level that is searched first; "" if the request names none. `request` may
/// be null. `implied`: the queue has only flavors with a topology, so the pod set is placed without
/// a request.
std::string SearchedLevel(const TopologyTree& tree, const TopologyRequest* request, bool implied);

/// Resolves a request into `*spec`. "" or the sentence why it cannot be resolved.
std::string ResolveTopology(const TopologyTree& tree, const TopologyRequest* request, bool implied,
                            const AdmissionSettings& settings, TopologySpec* spec);

}  // namespace muster::core
