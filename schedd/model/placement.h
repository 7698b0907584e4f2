// Placement: ClusterResourcePlacement and ResourcePlacement, typed (rules P2 to P10),
// and what a job says about its own placement. Plain values.
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

/// A term of requiredDuringSchedulingIgnoredDuringExecution: all of it must match. An empty one
/// matches every member.
struct ClusterSelectorTerm {
  LabelSelector labels;
  std::vector<PropertyExpression> properties;
  bool operator==(const ClusterSelectorTerm&) const = default;
};

struct PropertySorter {
  std::string name;
  bool descending = true;  // sortOrder: the larger value is the better
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
  std::string topology_key;      // a label of members
  bool schedule_anyway = false;  // whenUnsatisfiable; false: DoNotSchedule
  bool operator==(const ClusterSpread&) const = default;
};

/// Annotation muster.io/cluster-groups: members in order of preference. One group is tried before
/// the next is; the next when the job has waited `wait_s` for room in all before it.
struct ClusterGroup {
  std::string name;
  std::vector<std::string> clusters;    // by name; empty: by labels
  std::optional<LabelSelector> labels;  // nullopt: by name
  std::int64_t wait_s = 0;              // before the next group is tried too
  bool operator==(const ClusterGroup&) const = default;
};

struct PlacementPolicy {
  PlacementType type = PlacementType::kPickAll;
  std::vector<std::string> cluster_names;       // of PickFixed
  std::int32_t number_of_clusters = 1;          // of PickN; 0: nowhere
  std::vector<ClusterSelectorTerm> required;    // one of them; empty: every member
  std::vector<PreferredClusterTerm> preferred;  // of PickN
  std::vector<ClusterSpread> spread;            // of PickN
  std::vector<Toleration> tolerations;
  std::vector<ClusterGroup> groups;  // empty: all members are one
  bool kubefleet_tie_break = false;  // muster.io/tie-break: the larger name, as KubeFleet does
  bool score_over_feasible = false;  // muster.io/score-over: extremes over feasible members only
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
  std::string name;                     // "": by labels, or all
  std::optional<LabelSelector> labels;  // nullopt: by name, or all
  SelectionScope scope = SelectionScope::kNamespaceWithResources;
  bool operator==(const ResourceSelector&) const = default;
};

struct Placement {
  std::string ns;  // "": a ClusterResourcePlacement
  std::string name;
  std::vector<ResourceSelector> selectors;
  PlacementPolicy policy;
  bool has_policy = false;  // spec.policy is given: it may not be taken away again
  // Of configuration objects that it selects; a job is made once and never applied again.
  RollingUpdate rollout;
  ApplyStrategy apply;
  bool abandon = false;  // deleteStrategy Abandon: objects stay when the placement goes
  std::int32_t revision_history_limit = 10;  // snapshots kept
  bool operator==(const Placement&) const = default;
};
using PlacementPtr = std::shared_ptr<const Placement>;

/// "ResourcePlacement ml/train" or "ClusterResourcePlacement gpu".
std::string MentionOf(const Placement& placement);

/// What a job says about its placement, and what placements may ask about it. Fixed at acceptance;
/// null in a job that has none of it.
struct JobPlacement {
  LabelMap labels;        // of its manifest; kept only if some placement could ask for them
  std::string placement;  // annotation muster.io/placement: the placement that it goes by
  std::string cluster;    // annotation muster.io/cluster: the one member that it may run on
  std::vector<std::string> datasets;  // annotation muster.io/datasets
  bool datasets_required = false;     // annotation muster.io/datasets-required
  bool checkpointable = false;        // annotation muster.io/checkpointable: it may be moved
  bool operator==(const JobPlacement&) const = default;
};
using JobPlacementPtr = std::shared_ptr<const JobPlacement>;

/// All placements, with the way from a job to the one that governs it. A value; a copy costs little
/// (SharedMap).
class PlacementTable {
 public:
  using Key = std::pair<std::string, std::string>;                   // namespace ("": CRP), name
  using Target = std::tuple<std::string, std::string, std::string>;  // namespace, kind, name

  void Put(PlacementPtr placement);
  void Erase(const std::string& ns, const std::string& name);
  /// Null if there is none.
  PlacementPtr Find(const std::string& ns, const std::string& name) const;
  const SharedMap<Key, PlacementPtr>& all() const { return all_; }
  /// Those with spread constraints, by key.
  std::vector<PlacementPtr> Spreading() const;

  /// ResourcePlacements that name this object, by name. With namespace "" and kind Namespace: the
  /// ClusterResourcePlacements that name this namespace.
  std::vector<PlacementPtr> Naming(const std::string& ns, const std::string& group,
                                   const std::string& kind, const std::string& name) const;
  /// ResourcePlacements of the namespace that select by labels or a whole kind, by name.
  std::vector<PlacementPtr> Selecting(const std::string& ns) const;

 private:
  SharedMap<Key, PlacementPtr> all_;
  SharedMap<Target, std::set<std::string>> by_target_;
  std::map<std::string, std::set<std::string>> selecting_;  // by namespace
  std::set<Key> spreading_;
};

}  // namespace muster
