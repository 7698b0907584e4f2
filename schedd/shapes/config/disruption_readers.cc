// Evictions and disruption budgets of placements (rules P30, P31): their readers and their entries
// in the table of kinds. Each comes as a cluster-scoped kind, for ClusterResourcePlacements, and as
// a namespaced one, for ResourcePlacements; the two share a reader and a table of the ConfigView,
// in which the namespace of the cluster-scoped one is "".
#include <algorithm>
#include <charconv>

#include "schedd/base/names.h"
#include "schedd/shapes/config/config_tables.h"
#include "schedd/shapes/config/kind_list.h"
#include "schedd/shapes/config/object_readers.h"

namespace muster::shapes {
namespace {

constexpr char kLimitRule[] = "must be a number of jobs or a percentage such as 25%";

// A number of jobs, or a percentage of those on members; absent if the field is.
std::optional<DisruptionLimit> ReadLimit(const Field& field) {
  if (!field.present()) return std::nullopt;
  DisruptionLimit limit;
  if (const auto* text = field.value()->if_string()) {
    std::string_view digits(*text);
    limit.percent = digits.ends_with('%');
    if (limit.percent) digits.remove_suffix(1);
    const auto [end, ec] =
        std::from_chars(digits.data(), digits.data() + digits.size(), limit.value);
    const bool read = ec == std::errc() && end == digits.data() + digits.size();
    if (!read || limit.value < 0 || (limit.percent && limit.value > 100)) field.Fail(kLimitRule);
  } else if (field.value()->is_int64()) {
    limit.value = field.CountOr(0, 0);
  } else {
    field.Fail(kLimitRule);
  }
  return limit;
}

// Exactly one of the two limits must be given.
DisruptionBudget ReadBudget(const Field& root) {
  root.OnlyMembers({"apiVersion", "kind", "metadata", "spec", "status"});
  DisruptionBudget budget;
  budget.name = NameOf(root);
  const Field spec = root["spec"];
  if (!spec.Require()) return budget;
  spec.OnlyMembers({"maxUnavailable", "minAvailable"});
  budget.max_unavailable = ReadLimit(spec["maxUnavailable"]);
  budget.min_available = ReadLimit(spec["minAvailable"]);
  if (budget.max_unavailable.has_value() == budget.min_available.has_value())
    spec.Fail("must have exactly one of maxUnavailable and minAvailable");
  return budget;
}

// True if the engine has finished with an eviction: its status has condition Executed, or condition
// Valid is False.
bool IsOver(const Field& status) {
  for (const Field& condition : status["conditions"].Elements()) {
    const std::string_view type = condition["type"].StringOr("");
    if (type == "Executed" || (type == "Valid" && condition["status"].StringOr("") == "False"))
      return true;
  }
  return false;
}

// When the engine carried the eviction out; unset if it has not.
WallTime ExecutedAt(const Field& status) {
  for (const Field& condition : status["conditions"].Elements()) {
    if (condition["type"].StringOr("") != "Executed") continue;
    if (condition["status"].StringOr("") != "True") continue;
    WallTime at;
    if (ParseRfc3339(std::string(condition["lastTransitionTime"].StringOr("")), &at)) return at;
  }
  return {};
}

PlacementEviction ReadEviction(const Field& root) {
  root.OnlyMembers({"apiVersion", "kind", "metadata", "spec", "status"});
  PlacementEviction eviction;
  eviction.name = NameOf(root);
  const Field spec = root["spec"];
  if (!spec.Require()) return eviction;
  spec.OnlyMembers({"placementName", "clusterName"});
  const Field placement = spec["placementName"];
  const Field cluster = spec["clusterName"];
  if (placement.Require()) eviction.placement = placement.StringOr("");
  if (cluster.Require()) eviction.cluster = cluster.StringOr("");
  if (placement.present() &&
      (eviction.placement.empty() || eviction.placement.size() > kPlacementNameBytes)) {
    placement.Fail("must be the name of a placement, at most " +
                   std::to_string(kPlacementNameBytes) + " bytes");
  }
  if (cluster.present() && !IsMemberName(eviction.cluster)) cluster.Fail(kMemberNameRule);
  eviction.over = IsOver(root["status"]);
  eviction.executed_at = ExecutedAt(root["status"]);
  return eviction;
}

DisruptionBudget ReadDisruptionBudget(const Field& root) {
  DisruptionBudget budget = ReadBudget(root);
  budget.ns = NamespaceOf(root);
  return budget;
}

PlacementEviction ReadPlacementEviction(const Field& root) {
  PlacementEviction eviction = ReadEviction(root);
  eviction.ns = NamespaceOf(root);
  return eviction;
}

// An eviction is for one placement on one member; only its status changes, by the engine.
Status CheckEvictionChange(const PlacementEviction& old, const PlacementEviction& now) {
  if (old.placement != now.placement)
    return InvalidField("spec.placementName", "field is immutable: it is " + Quoted(old.placement));
  if (old.cluster != now.cluster)
    return InvalidField("spec.clusterName", "field is immutable: it is " + Quoted(old.cluster));
  return Done{};
}

constexpr PrinterColumn kEvictionColumns[] = {
    kNameColumn,
    TextColumn("PLACEMENT", "spec.placementName"),
    TextColumn("CLUSTER", "spec.clusterName"),
    ConditionColumn("VALID", "Valid"),
    ConditionColumn("EXECUTED", "Executed"),
    kAgeColumn,
};

constexpr PrinterColumn kBudgetColumns[] = {
    kNameColumn,
    TextColumn("MAX UNAVAILABLE", "spec.maxUnavailable"),
    TextColumn("MIN AVAILABLE", "spec.minAvailable"),
    kAgeColumn,
};

}  // namespace

constinit const KindInfo kClusterDisruptionBudgetKind = {
    .kind = ObjectKind::kClusterResourcePlacementDisruptionBudget,
    .name = "ClusterResourcePlacementDisruptionBudget",
    .plural = "clusterresourceplacementdisruptionbudgets",
    .group = kPlacementGroup,
    .versions = {"v1beta1", "v1"},
    .namespaced = false,
    .table = "cluster_disruption_budgets",
    .check = CheckBy<ReadBudget>,
    .put = PutInto<ReadBudget, &ConfigView::disruption_budgets>,
    .remove = EraseFrom<&ConfigView::disruption_budgets>,
    .concern = Concern::kPlacements,
    .short_names = {"crpdb"},
    .cli_name = "crpdb",
    .cli_place = 15,
    .columns = kBudgetColumns,
};

constinit const KindInfo kDisruptionBudgetKind = {
    .kind = ObjectKind::kResourcePlacementDisruptionBudget,
    .name = "ResourcePlacementDisruptionBudget",
    .plural = "resourceplacementdisruptionbudgets",
    .group = kPlacementGroup,
    .versions = {"v1beta1", "v1"},
    .namespaced = true,
    .table = "disruption_budgets",
    .check = CheckBy<ReadDisruptionBudget>,
    .put = PutInto<ReadDisruptionBudget, &ConfigView::disruption_budgets>,
    .remove = EraseFrom<&ConfigView::disruption_budgets>,
    .concern = Concern::kPlacements,
    .cli_place = 16,
    .columns = kBudgetColumns,
};

constinit const KindInfo kClusterPlacementEvictionKind = {
    .kind = ObjectKind::kClusterResourcePlacementEviction,
    .name = "ClusterResourcePlacementEviction",
    .plural = "clusterresourceplacementevictions",
    .group = kPlacementGroup,
    .versions = {"v1beta1", "v1"},
    .namespaced = false,
    .table = "cluster_placement_evictions",
    .check = CheckBy<ReadEviction>,
    .put = PutInto<ReadEviction, &ConfigView::placement_evictions, CheckEvictionChange>,
    .remove = EraseFrom<&ConfigView::placement_evictions>,
    .concern = Concern::kPlacements,
    .status = StatusWriter::kEngine,
    .short_names = {"crpe"},
    .cli_name = "crpe",
    .cli_place = 13,
    .columns = kEvictionColumns,
};

constinit const KindInfo kPlacementEvictionKind = {
    .kind = ObjectKind::kResourcePlacementEviction,
    .name = "ResourcePlacementEviction",
    .plural = "resourceplacementevictions",
    .group = kPlacementGroup,
    .versions = {"v1beta1", "v1"},
    .namespaced = true,
    .table = "placement_evictions",
    .check = CheckBy<ReadPlacementEviction>,
    .put = PutInto<ReadPlacementEviction, &ConfigView::placement_evictions, CheckEvictionChange>,
    .remove = EraseFrom<&ConfigView::placement_evictions>,
    .concern = Concern::kPlacements,
    .status = StatusWriter::kEngine,
    .cli_place = 14,
    .columns = kEvictionColumns,
};

}  // namespace muster::shapes
