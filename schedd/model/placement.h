// Placement: ClusterResourcePlacement and ResourcePlacement, typed (rules P2 to P10), and the
// wishes of a job about its own placement. Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "schedd/base/shared_map.h"
#include "schedd/model/apply_strategy.h"
#include "schedd/model/member_property.h"
#include "schedd/model/scheduling.h"

namespace muster {

enum class PlacementType : std::uint8_t { kPickAll, kPickFixed, kPickN };
/// "PickAll", ...
std::string_view PlacementTypeName(PlacementType type);

/// A term of requiredDuringSchedulingIgnoredDuringExecution: all of its parts must match. An empty
/// term matches every member.
struct ClusterSelectorTerm {
  LabelSelector labels;
  std::vector<PropertyExpression> properties;
  bool operator==(const ClusterSelectorTerm&) const = default;
};

struct PropertySorter {
  std::string name;
  /// sortOrder: the larger value is better.
  bool descending = true;
  bool operator==(const PropertySorter&) const = default;
};

/// A term of preferredDuringSchedulingIgnoredDuringExecution.
struct PreferredClusterTerm {
  std::int32_t weight = 0;  // -100 to 100
  LabelSelector labels;
  std::optional<PropertySorter> sorter;
  bool operator==(const PreferredClusterTerm&) const = default;
};

struct ClusterSpread {
  std::int32_t max_skew = 1;
  /// A label of members.
  std::string topology_key;
  /// whenUnsatisfiable ScheduleAnyway; false: DoNotSchedule.
  bool schedule_anyway = false;
  bool operator==(const ClusterSpread&) const = default;
};

/// Annotation muster.io/cluster-groups: members in order of preference. The next group is tried too
/// when the job has waited `wait_s` for room in all groups before it.
struct ClusterGroup {
  std::string name;
  /// By name; empty: the group is given by labels.
  std::vector<std::string> clusters;
  std::optional<LabelSelector> labels;  // nullopt: the group is given by names
  std::int64_t wait_s = 0;
  bool operator==(const ClusterGroup&) const = default;
};

struct PlacementPolicy {
  PlacementType type = PlacementType::kPickAll;
  /// Of PickFixed.
  std::vector<std::string> cluster_names;
  /// Of PickN; 0: no member.
  std::int32_t number_of_clusters = 1;
  /// One of them must match; empty: every member.
  std::vector<ClusterSelectorTerm> required;
  /// Of PickN.
  std::vector<PreferredClusterTerm> preferred;
  /// Of PickN.
  std::vector<ClusterSpread> spread;
  std::vector<Toleration> tolerations;
  /// Empty: all members are one group.
  std::vector<ClusterGroup> groups;
  /// muster.io/tie-break: of equal scores the larger name wins, as in KubeFleet.
  bool kubefleet_tie_break = false;
  /// muster.io/score-over: extremes are taken over feasible members only.
  bool score_over_feasible = false;
  bool operator==(const PlacementPolicy&) const = default;
};

enum class SelectionScope : std::uint8_t {
  kNamespaceWithResources,
  kNamespaceOnly,
  kNamespaceWithResourceSelectors
};

/// Namespaces that no placement may select (rule P3): default, kube-* and fleet-*.
bool IsReservedNamespace(std::string_view ns);

struct ResourceSelector {
  std::string group, version, kind;
  /// "": selected by labels, or all objects of the kind.
  std::string name;
  /// nullopt: selected by name, or all objects of the kind.
  std::optional<LabelSelector> labels;
  SelectionScope scope = SelectionScope::kNamespaceWithResources;
  bool operator==(const ResourceSelector&) const = default;
};

struct Placement {
  std::string ns;  // "": a ClusterResourcePlacement
  std::string name;
  std::vector<ResourceSelector> selectors;
  PlacementPolicy policy;
  /// spec.policy is given; it may not be taken away again.
  bool has_policy = false;
  // For configuration objects; a job is created once and never applied again.
  RollingUpdate rollout;
  ApplyStrategy apply;
  /// deleteStrategy Abandon: objects stay on members when the placement goes.
  bool abandon = false;
  /// Snapshots kept.
  std::int32_t revision_history_limit = 10;
  bool operator==(const Placement&) const = default;
};
using PlacementPtr = std::shared_ptr<const Placement>;

/// "ResourcePlacement ml/train" or "ClusterResourcePlacement gpu".
std::string MentionOf(const Placement& placement);

/// The wishes of a job about its placement, and what placements may select it by. Fixed at
/// acceptance; null in a job without any of it.
struct JobPlacement {
  /// Of its manifest; kept only if some placement could select by them.
  LabelMap labels;
  /// Annotation muster.io/placement: the placement that governs it.
  std::string placement;
  /// Annotation muster.io/cluster: the one member on which it may run.
  std::string cluster;
  /// Annotation muster.io/datasets.
  std::vector<std::string> datasets;
  /// Annotation muster.io/datasets-required.
  bool datasets_required = false;
  /// Annotation muster.io/checkpointable: a running job may be moved.
  bool checkpointable = false;
  bool operator==(const JobPlacement&) const = default;
};
using JobPlacementPtr = std::shared_ptr<const JobPlacement>;

/// All placements, with indexes from a job to the placement that governs it. A value; a copy costs
/// little (SharedMap).
class PlacementTable {
 public:
  /// Namespace ("": a ClusterResourcePlacement) and name.
  using Key = std::pair<std::string, std::string>;
  /// Namespace, kind, name.
  using Target = std::tuple<std::string, std::string, std::string>;

  void Put(PlacementPtr placement);
  void Erase(const std::string& ns, const std::string& name);
  /// Null if there is no such placement.
  PlacementPtr Find(const std::string& ns, const std::string& name) const;
  const SharedMap<Key, PlacementPtr>& all() const { return all_; }
  /// Placements with spread constraints, by key.
  std::vector<PlacementPtr> Spreading() const;

  /// The ResourcePlacements that name this object, by name. With namespace "" and kind Namespace:
  /// the ClusterResourcePlacements that name this namespace.
  std::vector<PlacementPtr> Naming(const std::string& ns, const std::string& group,
                                   const std::string& kind, const std::string& name) const;
  /// The ResourcePlacements of the namespace that select by labels or a whole kind, by name.
  std::vector<PlacementPtr> Selecting(const std::string& ns) const;

 private:
  SharedMap<Key, PlacementPtr> all_;
  SharedMap<Target, std::set<std::string>> by_target_;
  std::map<std::string, std::set<std::string>> selecting_;  // by namespace
  std::set<Key> spreading_;
};

}  // namespace muster
