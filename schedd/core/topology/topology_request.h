// What a pod set's topology request means on one tree: the level searched, the slices and their
// layers, which of the two orders applies (KEP-2724, rule A43). Pure.
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

/// A request, resolved. Levels are indices of the tree's levels.
struct TopologySpec {
  std::int32_t level = 0;        // searched first
  std::int32_t slice_level = 0;  // each slice inside one domain of it
  std::int64_t slice_size = 1;
  /// By level: the size of the inner slices that its domains take whole; 0: single pods.
  std::array<std::int64_t, limits::kTopologyLevels> inner_size = {};
  std::vector<TopologyLayer> layers;  // set only if there are inner slices; for the failure message
  bool required = false;              // that level or nothing
  bool unconstrained = false;         // any spread will do
  bool least_free = false;            // fill the fullest domains first; else best fit
};

/// The slices of a request, outermost first, however it spelt them. A size of 0 was not given.
std::vector<TopologyLayer> SliceLayersOf(const TopologyRequest& request);

/// True if the tree has every level that the request names; false for a request that names none.
bool HasLevels(const TopologyTree& tree, const TopologyRequest& request,
               const AdmissionSettings& settings);

/// The label key of the level searched first; "" if the request names none. `request` may be null;
/// `implied`: a queue of topology flavors only places it nevertheless.
std::string SearchedLevel(const TopologyTree& tree, const TopologyRequest* request, bool implied);

/// Resolves a request. The sentence why not, or "".
std::string ResolveTopology(const TopologyTree& tree, const TopologyRequest* request, bool implied,
                            const AdmissionSettings& settings, TopologySpec* spec);

}  // namespace muster::core
