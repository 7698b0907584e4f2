// ClusterResourcePlacement and ResourcePlacement (rule P2), and what may change in them.
#include <algorithm>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/shapes/config/object_readers.h"
#include "schedd/shapes/config/placement_parts.h"

namespace muster::shapes {
namespace {

Placement ReadPlacement(const Field& root, bool of_cluster) {
  root.OnlyMembers({"apiVersion", "kind", "metadata", "spec", "status"});
  Placement placement;
  placement.name = NameOf(root);
  if (placement.name.size() > kPlacementNameBytes) {
    root["metadata"]["name"].Fail("must be at most " + std::to_string(kPlacementNameBytes) +
                                  " bytes");
  }
  const Field spec = root["spec"];
  if (!spec.Require()) return placement;
  spec.OnlyMembers(
      {"resourceSelectors", "policy", "strategy", "revisionHistoryLimit", "statusReportingScope"});
  placement.selectors = ReadResourceSelectors(spec["resourceSelectors"], of_cluster);
  placement.has_policy = spec["policy"].present();
  placement.policy = ReadPlacementPolicy(spec["policy"]);
  ReadPlacementExtensions(root["metadata"]["annotations"], &placement.policy);
  ReadStrategy(spec["strategy"], &placement);
  const auto revisions = spec["revisionHistoryLimit"].Int(1, limits::kRevisionsMost);
  if (revisions) placement.revision_history_limit = static_cast<std::int32_t>(*revisions);
  const Field scope = spec["statusReportingScope"];
  if (scope.OneOf({"ClusterScopeOnly", "NamespaceAccessible"}) == "NamespaceAccessible") {
    scope.Fail(of_cluster ? "NamespaceAccessible is not supported by this version: there are no "
                            "ClusterResourcePlacementStatus objects"
                          : "NamespaceAccessible is only for a ClusterResourcePlacement");
  }
  return placement;
}

}  // namespace

Placement ReadClusterResourcePlacement(const Field& root) { return ReadPlacement(root, true); }

Placement ReadResourcePlacement(const Field& root) {
  Placement placement = ReadPlacement(root, false);
  placement.ns = NamespaceOf(root);
  return placement;
}

Status CheckPlacementChange(const Placement& old, const Placement& now) {
  if (old.has_policy && !now.has_policy)
    return InvalidField("spec.policy", "may not be removed once it is set");
  if (old.policy.type != now.policy.type) {
    return InvalidField("spec.policy.placementType",
                        "field is immutable: it is " + Quoted(PlacementTypeName(old.policy.type)));
  }
  const auto& kept = now.policy.tolerations;
  for (const Toleration& toleration : old.policy.tolerations) {
    if (std::find(kept.begin(), kept.end(), toleration) != kept.end()) continue;
    return InvalidField("spec.policy.tolerations",
                        "may only be added to: the one of " +
                            (toleration.key.empty() ? "every key" : Quoted(toleration.key)) +
                            " was changed or removed");
  }
  return Done{};
}

}  // namespace muster::shapes
