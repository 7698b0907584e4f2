// Both forms are read into one TopologyRequest and then pass the same checks (Check); RequestFields
// has the fields of the form that was used, so that a problem names a field that the user wrote. At
// most one of required, preferred and unconstrained may be given. A request may also split its pods
// into slices of equal size, either by one level and size or by several layers, each inside the one
// before.
#include "schedd/shapes/parts/topology_request.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"

namespace muster::shapes {
namespace {

constexpr std::string_view kRequiredKey = "kueue.x-k8s.io/podset-required-topology";
constexpr std::string_view kPreferredKey = "kueue.x-k8s.io/podset-preferred-topology";
constexpr std::string_view kUnconstrainedKey = "kueue.x-k8s.io/podset-unconstrained-topology";
constexpr std::string_view kGroupKey = "kueue.x-k8s.io/podset-group-name";
constexpr std::string_view kSliceLevelKey = "kueue.x-k8s.io/podset-slice-required-topology";
constexpr std::string_view kSliceSizeKey = "kueue.x-k8s.io/podset-slice-size";
constexpr std::string_view kLayersKey = "kueue.x-k8s.io/podset-slice-required-topology-constraints";

// A level is the key of a node label.
std::optional<std::string> ReadLevel(const Field& field) {
  const auto text = field.String();
  if (!text) return std::nullopt;
  if (!IsQualifiedName(*text)) field.Fail(kQualifiedNameRule);
  return std::string(*text);
}

std::optional<std::int32_t> NumberOf(std::string_view text) {
  std::int32_t number = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The fields of a request in the form that was used.
struct RequestFields {
  Field required, preferred, unconstrained, group, slice_level, slice_size, layers;
};

// Layers go from the outermost inwards: each size divides the one before it, and the first divides
// the number of pods.
void CheckLayers(const Field& field, const std::vector<TopologyLayer>& layers, std::int32_t count) {
  if (layers.empty() || layers.size() > limits::kSliceLayers)
    field.Fail("must have 1 to " + std::to_string(limits::kSliceLayers) + " layers");
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].size < 1) {
      field.Fail("every size must be at least 1");
      return;
    }
    if (i > 0 && layers[i - 1].size % layers[i].size != 0)
      field.Fail("each size must divide the size of the layer before it");
    const auto same = [&](const TopologyLayer& other) { return other.level == layers[i].level; };
    if (std::count_if(layers.begin(), layers.end(), same) > 1)
      field.Fail("each layer must be at a level of its own: " + Quoted(layers[i].level));
  }
  if (!layers.empty() && count % layers[0].size != 0)
    field.Fail("the outermost size must divide the number of pods, " + std::to_string(count));
}

// Either the layers, or a level and a size, or neither.
void CheckSlices(const TopologyRequest& request, const RequestFields& at, std::int32_t count) {
  if (!request.slice_layers.empty() || at.layers.present()) {
    CheckLayers(at.layers, request.slice_layers, count);
    at.slice_level.Refuse("may not be given beside the constraints of several layers");
    at.slice_size.Refuse("may not be given beside the constraints of several layers");
    return;
  }
  if (request.slice_required.has_value() != request.slice_size.has_value()) {
    (request.slice_required ? at.slice_size : at.slice_level)
        .Fail("is required: a slice has a level and a size");
    return;
  }
  if (!request.slice_size) return;
  if (*request.slice_size < 1 || *request.slice_size > count) {
    at.slice_size.Fail("must be 1 to the number of pods, " + std::to_string(count));
  } else if (count % *request.slice_size != 0) {
    // Kueue accepts this and then never places the remaining pods (kueue issue 15277).
    at.slice_size.Fail("must divide the number of pods, " + std::to_string(count));
  }
}

// A pod set of a group is placed with the group's other pod set, which slices would contradict.
void Check(const TopologyRequest& request, const RequestFields& at, std::int32_t count) {
  const int modes =
      (request.required ? 1 : 0) + (request.preferred ? 1 : 0) + (request.unconstrained ? 1 : 0);
  if (modes > 1) {
    const Field& second = request.unconstrained ? at.unconstrained : at.preferred;
    second.Fail("at most one of required, preferred and unconstrained topology may be given");
  }
  if (!request.pod_set_group.empty()) {
    if (NumberOf(request.pod_set_group)) at.group.Fail("must not be a number");
    if (!request.required && !request.preferred)
      at.group.Fail("needs a required or preferred topology");
    at.slice_size.Refuse("may not be given for a pod set of a group");
    at.layers.Refuse("may not be given for a pod set of a group");
  }
  CheckSlices(request, at, count);
}

std::vector<TopologyLayer> ReadLayers(const Field& list) {
  std::vector<TopologyLayer> layers;
  for (const auto& item : list.Elements()) {
    item.OnlyMembers({"topology", "size"});
    TopologyLayer layer;
    if (item["topology"].Require()) layer.level = ReadLevel(item["topology"]).value_or("");
    if (item["size"].Require()) layer.size = item["size"].CountOr(1, 1);
    layers.push_back(std::move(layer));
  }
  return layers;
}

// The annotation holds a JSON list as text, so its problems are reported at the annotation.
std::vector<TopologyLayer> ParseLayers(const Field& annotation) {
  const auto text = annotation.String();
  if (!text) return {};
  const auto parsed = ParseJson(*text);
  Problems problems;
  std::vector<TopologyLayer> layers;
  if (parsed.ok() && parsed->is_array()) layers = ReadLayers(Field(*parsed, &problems));
  if (!parsed.ok() || !parsed->is_array() || !problems.empty())
    annotation.Fail("must be a JSON list of {\"topology\": LEVEL, \"size\": PODS}");
  return layers;
}

}  // namespace

std::shared_ptr<const TopologyRequest> ReadTopologyRequest(const Field& field, std::int32_t count) {
  if (field.Object() == nullptr) return nullptr;
  field.OnlyMembers({"required", "preferred", "unconstrained", "podIndexLabel",
                     "subGroupIndexLabel", "subGroupCount", "podSetGroupName",
                     "podSetSliceRequiredTopology", "podSetSliceSize",
                     "podsetSliceRequiredTopologyConstraints"});
  const RequestFields at = {field["required"],
                            field["preferred"],
                            field["unconstrained"],
                            field["podSetGroupName"],
                            field["podSetSliceRequiredTopology"],
                            field["podSetSliceSize"],
                            field["podsetSliceRequiredTopologyConstraints"]};
  auto request = std::make_shared<TopologyRequest>();
  request->required = ReadLevel(at.required);
  request->preferred = ReadLevel(at.preferred);
  request->unconstrained = at.unconstrained.BoolOr(false);
  request->pod_set_group = at.group.StringOr("");
  request->slice_required = ReadLevel(at.slice_level);
  request->slice_size = at.slice_size.Count(1);
  request->slice_layers = ReadLayers(at.layers);
  Check(*request, at, count);
  return request;
}

// Annotations hold texts, so numbers and booleans are parsed here.
std::shared_ptr<const TopologyRequest> ReadTopologyAnnotations(const Field& metadata,
                                                               std::int32_t count) {
  const Field annotations = metadata["annotations"];
  const RequestFields at = {annotations.Named(kRequiredKey),      annotations.Named(kPreferredKey),
                            annotations.Named(kUnconstrainedKey), annotations.Named(kGroupKey),
                            annotations.Named(kSliceLevelKey),    annotations.Named(kSliceSizeKey),
                            annotations.Named(kLayersKey)};
  auto request = std::make_shared<TopologyRequest>();
  request->required = ReadLevel(at.required);
  request->preferred = ReadLevel(at.preferred);
  request->unconstrained = at.unconstrained.OneOf({"true", "false"}) == "true";
  request->pod_set_group = at.group.StringOr("");
  request->slice_required = ReadLevel(at.slice_level);
  if (const auto text = at.slice_size.String()) {
    request->slice_size = NumberOf(*text);
    if (!request->slice_size) at.slice_size.Fail("must be a number of pods");
  }
  request->slice_layers = ParseLayers(at.layers);
  Check(*request, at, count);
  if (*request == TopologyRequest{}) return nullptr;
  return request;
}

// Groups are checked for the job as a whole, when all its pod sets are known.
void CheckTopologyGroups(const Field& where, const PodSets& pod_sets) {
  std::map<std::string, std::vector<const PodSet*>> groups;
  for (const auto& pod_set : pod_sets) {
    if (pod_set.topology != nullptr && !pod_set.topology->pod_set_group.empty())
      groups[pod_set.topology->pod_set_group].push_back(&pod_set);
  }
  for (const auto& [name, members] : groups) {
    const std::string group = "the topology group " + Quoted(name);
    if (members.size() != 2) {
      where.Fail(group + " must have exactly two pod sets, not " + std::to_string(members.size()));
      continue;
    }
    if (members[0]->count != 1 && members[1]->count != 1)
      where.Fail(group + " must have one pod set of a single pod");
    const TopologyRequest& a = *members[0]->topology;
    const TopologyRequest& b = *members[1]->topology;
    if (a.required != b.required || a.preferred != b.preferred)
      where.Fail(group + " must ask for the same topology in both pod sets");
  }
}

}  // namespace muster::shapes
