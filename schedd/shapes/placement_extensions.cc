// What Muster adds to placement, in annotations: of placements, of jobs, of queues and namespaces,
// of members.
#include <algorithm>
#include <set>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/shapes/metadata.h"
#include "schedd/shapes/object_readers.h"
#include "schedd/shapes/placement_parts.h"
#include "schedd/shapes/pod_template.h"

namespace muster::shapes {
namespace {

constexpr std::string_view kOwnPrefix = "muster.io/";
constexpr std::string_view kTieBreak = "muster.io/tie-break";
constexpr std::string_view kScoreOver = "muster.io/score-over";
constexpr std::string_view kClusterGroups = "muster.io/cluster-groups";
constexpr std::string_view kPlacementKey = "muster.io/placement";
constexpr std::string_view kDatasetsKey = "muster.io/datasets";
constexpr std::int64_t kGroupWaitMax = 30 * 24 * 3600;
constexpr std::size_t kDatasetBytes = 253;

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

bool IsDatasetName(std::string_view name) {
  return !name.empty() && name.size() <= kDatasetBytes &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

}  // namespace

bool IsMemberName(std::string_view name) { return name.size() <= 63 && IsDnsSubdomain(name); }

bool IsQueueingLabel(std::string_view key) {
  return key == kQueueKey || key == kPriorityKey || key == kMaxExecTimeKey;
}

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

std::string ReadPlacementName(const Field& annotations) {
  const Field field = annotations.Named(kPlacementKey);
  const auto text = field.String();
  if (!text) return "";
  if (text->size() > kPlacementNameBytes || !IsDnsSubdomain(*text))
    field.Fail("must be the name of a placement: a DNS subdomain of at most 63 bytes");
  return std::string(*text);
}

std::vector<std::string> ReadDatasets(const Field& annotations, std::size_t most) {
  std::vector<std::string> names;
  const Field field = annotations.Named(kDatasetsKey);
  const auto text = field.String();
  if (!text) return names;
  for (std::string_view rest = *text;;) {
    const std::size_t comma = rest.find(',');
    std::string_view name = rest.substr(0, comma);
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (!IsDatasetName(name)) {
      field.Fail("must be names separated by commas, each of 1 to 253 printable characters");
      return {};
    }
    names.emplace_back(name);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.size() > most) field.Fail("must be at most " + std::to_string(most) + " names");
  return names;
}

JobPlacementPtr ReadJobPlacement(const Field& metadata) {
  JobPlacement placement;
  for (const auto& [key, field] : metadata["labels"].Members()) {
    if (!IsQueueingLabel(key)) placement.labels.emplace(key, field.StringOr(""));
  }
  const Field annotations = metadata["annotations"];
  placement.placement = ReadPlacementName(annotations);
  const Field cluster = annotations.Named(kClusterKey);
  if (const auto text = cluster.String()) {
    if (!IsMemberName(*text)) cluster.Fail(kMemberNameRule);
    placement.cluster = *text;
  }
  placement.datasets = ReadDatasets(annotations, limits::kJobDatasets);
  const Field required = annotations.Named("muster.io/datasets-required");
  placement.datasets_required = required.OneOf({"true", "false"}) == "true";
  if (placement.datasets_required && placement.datasets.empty())
    required.Fail("needs annotation muster.io/datasets, which names them");
  placement.checkpointable =
      annotations.Named("muster.io/checkpointable").OneOf({"true", "false"}) == "true";
  if (placement == JobPlacement{}) return nullptr;
  return std::make_shared<const JobPlacement>(std::move(placement));
}

}  // namespace muster::shapes
