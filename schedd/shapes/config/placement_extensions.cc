// What Muster adds to placements, in annotations of its own prefix: how ties are broken, which
// members are scored, and groups of members that open one after another. An annotation with that
// prefix that is not known is refused, so that a misspelt one does not go unnoticed.
#include <set>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/shapes/config/object_readers.h"
#include "schedd/shapes/config/placement_parts.h"
#include "schedd/shapes/parts/pod_constraints.h"

namespace muster::shapes {
namespace {

constexpr std::string_view kOwnPrefix = "muster.io/";
constexpr std::string_view kTieBreak = "muster.io/tie-break";
constexpr std::string_view kScoreOver = "muster.io/score-over";
constexpr std::string_view kClusterGroups = "muster.io/cluster-groups";
constexpr std::int64_t kGroupWaitMax = 30 * 24 * 3600;  // seconds: 30 days

// One group: member clusters by name, or by labels.
ClusterGroup ReadGroup(const Field& item) {
  item.OnlyMembers({"name", "clusters", "labels", "waitSeconds"});
  ClusterGroup group;
  const Field name = item["name"];
  if (name.Require()) group.name = name.StringOr("");
  if (name.present() && (group.name.empty() || !IsLabelValue(group.name)))
    name.Fail(kLabelValueRule);
  const Field clusters = item["clusters"];
  const Field labels = item["labels"];
  if (clusters.present() == labels.present()) {
    item.Fail("must have either clusters or labels");
  } else if (labels.present()) {
    group.labels = LabelSelector{ReadLabelMap(labels), {}};
  } else {
    for (const Field& cluster : clusters.Elements()) {
      const std::string text(cluster.StringOr(""));
      if (!IsMemberName(text)) cluster.Fail(kMemberNameRule);
      group.clusters.push_back(text);
    }
    if (clusters.Array() != nullptr && group.clusters.empty())
      clusters.Fail("must name at least one member cluster");
    if (group.clusters.size() > limits::kPlacementClusters)
      clusters.Fail("must have at most " + std::to_string(limits::kPlacementClusters) + " entries");
  }
  group.wait_s = item["waitSeconds"].Int(0, kGroupWaitMax).value_or(0);
  return group;
}

// The annotation's text is JSON. Its problems are reported as one problem of the annotation, since
// paths of a manifest do not reach into a text.
std::vector<ClusterGroup> ReadGroups(const Field& annotation) {
  std::vector<ClusterGroup> groups;
  const auto text = annotation.String();
  if (!text) return groups;
  const auto list = ParseJson(*text);
  if (!list.ok() || !list->is_array() || list->get_array().empty()) {
    annotation.Fail("must be a JSON list of groups of member clusters");
    return groups;
  }
  if (list->get_array().size() > limits::kClusterGroups) {
    annotation.Fail("must have at most " + std::to_string(limits::kClusterGroups) + " groups");
    return groups;
  }
  Problems problems;
  std::set<std::string> names;
  for (const Field& item : Field(*list, &problems).Elements()) {
    groups.push_back(ReadGroup(item));
    if (!names.insert(groups.back().name).second)
      item["name"].Fail("must be unique: " + Quoted(groups.back().name));
  }
  if (!problems.empty()) annotation.Fail(problems.ToError().detail);
  return groups;
}

}  // namespace

void ReadPlacementExtensions(const Field& annotations, PlacementPolicy* policy) {
  for (const auto& [key, field] : annotations.Members()) {
    if (key.starts_with(kOwnPrefix) && key != kTieBreak && key != kScoreOver &&
        key != kClusterGroups) {
      field.Fail(key.starts_with("muster.io/rebalance")
                     ? "is for ClusterQueues: what of their jobs may move is theirs to say"
                     : "unknown: placements have muster.io/tie-break, score-over and "
                       "cluster-groups");
    }
  }
  policy->kubefleet_tie_break = annotations.Named(kTieBreak).OneOf({"kubefleet"}).has_value();
  const Field over = annotations.Named(kScoreOver);
  policy->score_over_feasible = over.OneOf({"feasible"}).has_value();
  if (over.present() && policy->type != PlacementType::kPickN)
    over.Fail("is only for placementType PickN: no other has scores");
  policy->groups = ReadGroups(annotations.Named(kClusterGroups));
}

}  // namespace muster::shapes
