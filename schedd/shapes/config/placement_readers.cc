// ClusterResourcePlacement and ResourcePlacement (rule P2): their reader, which puts the parts of
// placement_parts.h together, what may change in them, and their entries in the table of kinds.
//
// A ConfigView holds all placements in one immutable table that finds them for a job. It is shared
// between views, so a change copies it and puts the copy in its place.
#include <algorithm>
#include <array>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/shapes/config/config_tables.h"
#include "schedd/shapes/config/kind_list.h"
#include "schedd/shapes/config/object_readers.h"
#include "schedd/shapes/config/placement_parts.h"
#include "schedd/text/lenient.h"

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

Placement ReadClusterResourcePlacement(const Field& root) { return ReadPlacement(root, true); }

Placement ReadResourcePlacement(const Field& root) {
  Placement placement = ReadPlacement(root, false);
  placement.ns = NamespaceOf(root);
  return placement;
}

// What a placement has decided must stay valid: its type stays, and its tolerations may only grow.
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

// Puts a changed copy of the table of placements into the ConfigView.
template <class Edit>
void EditPlacements(ConfigView* config, const Edit& edit) {
  auto table = std::make_shared<PlacementTable>(*config->placements);
  edit(table.get());
  config->placements = std::move(table);
}

template <auto read>
Status PutPlacement(const json::value& manifest, ConfigView* config) {
  auto parsed = ReadTyped(manifest, read);
  if (!parsed.ok()) return parsed.error();
  auto placement = std::make_shared<Placement>(std::move(*parsed));
  const PlacementPtr old = config->placements->Find(placement->ns, placement->name);
  if (old != nullptr) {
    if (auto status = CheckPlacementChange(*old, *placement); !status.ok()) return status;
  }
  EditPlacements(config, [&](PlacementTable* table) { table->Put(std::move(placement)); });
  return Done{};
}

void RemovePlacement(ConfigView* config, const std::string& ns, const std::string& name) {
  if (config->placements->Find(ns, name) == nullptr) return;
  EditPlacements(config, [&](PlacementTable* table) { table->Erase(ns, name); });
}

void RemoveClusterPlacement(ConfigView* config, const std::string&, const std::string& name) {
  RemovePlacement(config, "", name);
}

std::string PlacementTypeCell(const json::value& placement) {
  const std::string type = TextAt(placement, {"spec", "policy", "placementType"});
  return type.empty() ? "PickAll" : type;
}

std::string SelectedCell(const json::value& placement) {
  const json::array* selected = FindArray(placement, {"status", "selectedResources"});
  return selected == nullptr ? "" : std::to_string(selected->size());
}

// "east,west". An entry without a name is a place that no member cluster could fill.
std::string ClustersCell(const json::value& placement) {
  std::string out;
  for (const json::value& status : ArrayOrEmpty(placement, {"status", "placementStatuses"})) {
    const std::string name = TextAt(status, "clusterName");
    if (!name.empty()) out += (out.empty() ? "" : ",") + name;
  }
  return out;
}

// With -o wide also what kubectl prints of placements. The types of the conditions begin with the
// kind.
constexpr std::array<PrinterColumn, 12> PlacementColumns(bool of_cluster) {
  const char* scheduled =
      of_cluster ? "ClusterResourcePlacementScheduled" : "ResourcePlacementScheduled";
  const char* applied = of_cluster ? "ClusterResourcePlacementApplied" : "ResourcePlacementApplied";
  const char* reported =
      of_cluster ? "ClusterResourcePlacementDiffReported" : "ResourcePlacementDiffReported";
  const char* available =
      of_cluster ? "ClusterResourcePlacementAvailable" : "ResourcePlacementAvailable";
  return {kNameColumn,
          ComputedColumn("TYPE", PlacementTypeCell),
          ComputedColumn("SELECTED", SelectedCell),
          ComputedColumn("CLUSTERS", ClustersCell),
          TextColumn("GEN", "metadata.generation", true),
          ConditionColumn("SCHEDULED", scheduled),
          ConditionColumn("SCHEDULED-GEN", scheduled, "observedGeneration", true),
          ConditionColumn("APPLIED", applied),
          ConditionColumn("DIFF-REPORTED", reported, "status", true),
          ConditionColumn("AVAILABLE", available),
          ConditionColumn("AVAILABLE-GEN", available, "observedGeneration", true),
          kAgeColumn};
}
constexpr auto kClusterPlacementColumns = PlacementColumns(true);
constexpr auto kPlacementColumns = PlacementColumns(false);

}  // namespace

constinit const KindInfo kClusterResourcePlacementKind = {
    .kind = ObjectKind::kClusterResourcePlacement,
    .name = "ClusterResourcePlacement",
    .plural = "clusterresourceplacements",
    .group = kPlacementGroup,
    .versions = {"v1beta1", "v1"},
    .namespaced = false,
    .table = "cluster_resource_placements",
    .check = CheckBy<ReadClusterResourcePlacement>,
    .put = PutPlacement<ReadClusterResourcePlacement>,
    .remove = RemoveClusterPlacement,
    .concern = Concern::kPlacements,
    .status = StatusWriter::kApi,
    .short_names = {"crp"},
    .cli_name = "crp",
    .cli_place = 11,
    .columns = kClusterPlacementColumns,
};

constinit const KindInfo kResourcePlacementKind = {
    .kind = ObjectKind::kResourcePlacement,
    .name = "ResourcePlacement",
    .plural = "resourceplacements",
    .group = kPlacementGroup,
    .versions = {"v1beta1", "v1"},
    .namespaced = true,
    .table = "resource_placements",
    .check = CheckBy<ReadResourcePlacement>,
    .put = PutPlacement<ReadResourcePlacement>,
    .remove = RemovePlacement,
    .concern = Concern::kPlacements,
    .status = StatusWriter::kApi,
    .short_names = {"rp"},
    .cli_name = "rp",
    .cli_place = 12,
    .columns = kPlacementColumns,
};

}  // namespace muster::shapes
