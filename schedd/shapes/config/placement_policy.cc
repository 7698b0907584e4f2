// spec.policy of a placement. Which fields are allowed depends on placementType: PickFixed has a
// list of members and looks at neither affinity nor taints; PickN has a number and may spread;
// PickAll takes every member that fits. A field of another type is refused by name.
#include <algorithm>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/shapes/config/object_readers.h"
#include "schedd/shapes/config/placement_parts.h"
#include "schedd/shapes/parts/pod_constraints.h"

namespace muster::shapes {
namespace {

PlacementType ReadType(const Field& field) {
  const auto text = field.OneOf({"PickAll", "PickFixed", "PickN"});
  if (text == "PickFixed") return PlacementType::kPickFixed;
  if (text == "PickN") return PlacementType::kPickN;
  return PlacementType::kPickAll;
}

// clusterNames of PickFixed. The members need not exist yet.
std::vector<std::string> ReadClusterNames(const Field& names) {
  std::vector<std::string> read;
  if (!names.Require()) return read;
  for (const Field& item : names.Elements()) {
    const std::string name(item.StringOr(""));
    if (!item.present() || !IsMemberName(name)) item.Fail(kMemberNameRule);
    if (std::find(read.begin(), read.end(), name) != read.end())
      item.Fail("must be unique: " + Quoted(name));
    read.push_back(name);
  }
  if (names.Array() != nullptr && read.empty()) names.Fail("must name at least one member cluster");
  if (read.size() > limits::kPlacementClusters)
    names.Fail("must have at most " + std::to_string(limits::kPlacementClusters) + " entries");
  return read;
}

// topologySpreadConstraints; the same key may be there once as a condition and once as a
// preference.
std::vector<ClusterSpread> ReadSpread(const Field& constraints) {
  std::vector<ClusterSpread> read;
  for (const Field& item : constraints.Elements()) {
    item.OnlyMembers({"maxSkew", "topologyKey", "whenUnsatisfiable"});
    ClusterSpread spread;
    spread.max_skew = item["maxSkew"].CountOr(1, 1);
    const Field key = item["topologyKey"];
    if (key.Require()) spread.topology_key = key.StringOr("");
    if (key.present() && !IsQualifiedName(spread.topology_key)) key.Fail(kQualifiedNameRule);
    const auto when = item["whenUnsatisfiable"].OneOf({"DoNotSchedule", "ScheduleAnyway"});
    spread.schedule_anyway = when == "ScheduleAnyway";
    const auto same = [&](const ClusterSpread& other) {
      return other.topology_key == spread.topology_key &&
             other.schedule_anyway == spread.schedule_anyway;
    };
    if (std::any_of(read.begin(), read.end(), same))
      item.Fail("topologyKey and whenUnsatisfiable must be unique among the constraints");
    read.push_back(std::move(spread));
  }
  if (read.size() > limits::kSpreadConstraints)
    constraints.Fail("must have at most " + std::to_string(limits::kSpreadConstraints) +
                     " entries");
  return read;
}

// tolerations. Taints of members have the effects NoSchedule and NoExecute only.
std::vector<Toleration> ReadPolicyTolerations(const Field& field) {
  std::vector<Toleration> read = ReadTolerations(field);
  const std::vector<Field> items = field.Elements();
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (read[i].effect == "PreferNoSchedule")
      items[i]["effect"].Fail("must be NoSchedule or NoExecute: members have no other taints");
    if (std::find(read.begin(), read.begin() + static_cast<std::ptrdiff_t>(i), read[i]) !=
        read.begin() + static_cast<std::ptrdiff_t>(i)) {
      items[i].Fail("must be unique among the tolerations");
    }
  }
  if (read.size() > limits::kPlacementTolerations)
    field.Fail("must have at most " + std::to_string(limits::kPlacementTolerations) + " entries");
  return read;
}

}  // namespace

PlacementPolicy ReadPlacementPolicy(const Field& field) {
  PlacementPolicy policy;
  if (field.Object() == nullptr) return policy;
  field.OnlyMembers({"placementType", "clusterNames", "numberOfClusters", "affinity",
                     "topologySpreadConstraints", "tolerations"});
  policy.type = ReadType(field["placementType"]);
  const bool fixed = policy.type == PlacementType::kPickFixed;
  const bool some = policy.type == PlacementType::kPickN;
  if (fixed) {
    policy.cluster_names = ReadClusterNames(field["clusterNames"]);
    field["affinity"].Refuse("is not for placementType PickFixed");
    field["tolerations"].Refuse("is not for placementType PickFixed: it looks at no taints");
  } else {
    field["clusterNames"].Refuse("is only for placementType PickFixed");
    ReadClusterAffinity(field["affinity"], &policy);
    policy.tolerations = ReadPolicyTolerations(field["tolerations"]);
  }
  const Field number = field["numberOfClusters"];
  if (some) {
    if (number.Require()) policy.number_of_clusters = number.CountOr(1, 0);
    policy.spread = ReadSpread(field["topologySpreadConstraints"]);
  } else {
    number.Refuse("is only for placementType PickN");
    field["topologySpreadConstraints"].Refuse("is only for placementType PickN");
  }
  return policy;
}

}  // namespace muster::shapes
