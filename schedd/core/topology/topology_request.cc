// Resolves topology requests (rule A43). Required and preferred requests search their own level
// first, slices alone start at the top level, unconstrained requests at the lowest. Slices must lie
// at or below the searched level, and each inner layer below the one before, with a size that
// divides it. The sentences are Kueue's.
#include "schedd/core/topology/topology_request.h"

#include <algorithm>

namespace muster::core {
namespace {

// The layers inside the outermost one. "" or the sentence about a layer that cannot be used.
std::string ResolveInnerLayers(const TopologyTree& tree, const std::vector<TopologyLayer>& layers,
                               TopologySpec* spec) {
  std::int64_t outer_size = spec->slice_size;
  std::int32_t outer_level = spec->slice_level;
  for (std::size_t i = 1; i < layers.size(); ++i) {
    const auto& layer = layers[i];
    const std::int32_t level = tree.LevelIndex(layer.level);
    if (level < 0) return "no requested topology level for additional slice layer: " + layer.level;
    if (level <= outer_level) {
      return "additional slice layer topology " + layer.level + " must be at a lower level than " +
             tree.levels()[static_cast<std::size_t>(outer_level)];
    }
    if (layer.size <= 0 || outer_size % layer.size != 0) {
      return "additional slice layer size " + std::to_string(layer.size) +
             " must evenly divide parent layer size " + std::to_string(outer_size);
    }
    // Domains of the levels between two layers also take multiples of the inner size.
    for (std::int32_t at = outer_level + 1; at <= level; ++at) {
      spec->inner_size[static_cast<std::size_t>(at)] = layer.size;
    }
    outer_size = layer.size;
    outer_level = level;
  }
  if (layers.size() > 1) spec->layers = layers;
  return "";
}

bool AsksForSlicesOnly(const TopologyRequest& request) {
  return !request.required && !request.preferred && !SliceLayersOf(request).empty();
}

}  // namespace

// slice_layers is the notation of several layers, slice_required and slice_size that of one.
std::vector<TopologyLayer> SliceLayersOf(const TopologyRequest& request) {
  if (!request.slice_layers.empty()) return request.slice_layers;
  if (!request.slice_required) return {};
  return {{*request.slice_required, request.slice_size.value_or(0)}};
}

std::string SearchedLevel(const TopologyTree& tree, const TopologyRequest* request, bool implied) {
  if (request != nullptr) {
    if (request->required) return *request->required;
    if (request->preferred) return *request->preferred;
    if (AsksForSlicesOnly(*request)) return tree.levels().front();
    if (request->unconstrained) return tree.levels().back();
  }
  return implied ? tree.levels().back() : "";
}

// Without the gate for several layers only the outermost layer is looked at.
bool HasLevels(const TopologyTree& tree, const TopologyRequest& request,
               const AdmissionSettings& settings) {
  const std::string searched = SearchedLevel(tree, &request, false);
  if (searched.empty() || tree.LevelIndex(searched) < 0) return false;
  const auto layers = SliceLayersOf(request);
  const std::size_t checked =
      settings.tas_multi_layer ? layers.size() : std::min<std::size_t>(1, layers.size());
  return std::all_of(layers.begin(), layers.begin() + static_cast<std::ptrdiff_t>(checked),
                     [&](const TopologyLayer& layer) { return tree.LevelIndex(layer.level) >= 0; });
}

std::string ResolveTopology(const TopologyTree& tree, const TopologyRequest* request, bool implied,
                            const AdmissionSettings& settings, TopologySpec* spec) {
  *spec = {};
  const auto layers = request == nullptr ? std::vector<TopologyLayer>{} : SliceLayersOf(*request);
  if (!layers.empty()) {
    if (layers[0].size <= 0) return "slice topology requested, but slice size not provided";
    spec->slice_size = layers[0].size;
  }
  spec->required = request != nullptr && request->required.has_value();
  // Slices alone and implied placement may be spread like unconstrained ones.
  spec->unconstrained =
      implied || (request != nullptr && (request->unconstrained || AsksForSlicesOnly(*request)));
  spec->least_free = spec->unconstrained && settings.tas_profile_mixed;

  const std::string searched = SearchedLevel(tree, request, implied);
  if (searched.empty()) return "topology level not specified";
  spec->level = tree.LevelIndex(searched);
  if (spec->level < 0) return "no requested topology level: " + searched;
  const std::string& slice_level = layers.empty() ? tree.levels().back() : layers[0].level;
  spec->slice_level = tree.LevelIndex(slice_level);
  if (spec->slice_level < 0) return "no requested topology level for slices: " + slice_level;
  if (spec->level > spec->slice_level) {
    return "podset slice topology " + slice_level + " is above the podset topology " + searched;
  }
  return settings.tas_multi_layer ? ResolveInnerLayers(tree, layers, spec) : "";
}

}  // namespace muster::core
