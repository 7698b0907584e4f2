// Evictions and disruption budgets of placements (rules P30, P31).
#include <algorithm>
#include <charconv>

#include "schedd/base/names.h"
#include "schedd/shapes/config/object_readers.h"

namespace muster::shapes {
namespace {

constexpr char kLimitRule[] = "must be a number of jobs or a percentage such as 25%";

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

// A status is the engine's: it ends with condition Executed, or with Valid being False.
bool IsOver(const Field& status) {
  for (const Field& condition : status["conditions"].Elements()) {
    const std::string_view type = condition["type"].StringOr("");
    if (type == "Executed" || (type == "Valid" && condition["status"].StringOr("") == "False"))
      return true;
  }
  return false;
}

// Unset unless it was carried out.
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

}  // namespace

DisruptionBudget ReadClusterDisruptionBudget(const Field& root) { return ReadBudget(root); }

DisruptionBudget ReadDisruptionBudget(const Field& root) {
  DisruptionBudget budget = ReadBudget(root);
  budget.ns = NamespaceOf(root);
  return budget;
}

PlacementEviction ReadClusterPlacementEviction(const Field& root) { return ReadEviction(root); }

PlacementEviction ReadPlacementEviction(const Field& root) {
  PlacementEviction eviction = ReadEviction(root);
  eviction.ns = NamespaceOf(root);
  return eviction;
}

Status CheckEvictionChange(const PlacementEviction& old, const PlacementEviction& now) {
  if (old.placement != now.placement)
    return InvalidField("spec.placementName", "field is immutable: it is " + Quoted(old.placement));
  if (old.cluster != now.cluster)
    return InvalidField("spec.clusterName", "field is immutable: it is " + Quoted(old.cluster));
  return Done{};
}

}  // namespace muster::shapes
