// Which placement governs a job (rule P1), and what the job itself asks of members (rule P16).
//
// BySelectors looks up placements by what they select, with the indices of PlacementTable: first
// those that name the job, then those that select by labels or kind, then those that take its
// namespace. NamedFor reads the annotations, the nearest to the job first. A variant of concurrent
// admission is selected by the name of its job.
#include "schedd/core/member/placement_ask.h"

#include <algorithm>

#include "schedd/base/quantity.h"
#include "schedd/model/admission_lifecycle.h"

namespace muster::core {
namespace {

constexpr const char* kNamespaceNameLabel = "kubernetes.io/metadata.name";

bool IsNamespace(const ResourceSelector& selector) {
  return selector.group.empty() && selector.kind == "Namespace";
}

// The name by which placements select the job; of a variant, its parent's name.
std::string_view NameOf(const JobRecord& job) {
  if (job.admission_state == nullptr) return job.name;
  const std::string_view parent = job.admission_state->concurrent_parent;  // "namespace/name"
  return parent.empty() ? std::string_view(job.name) : parent.substr(parent.find('/') + 1);
}

// True if a ClusterResourcePlacement takes the job along with its namespace: with all content, or
// with kinds that the job is among.
bool TakesWithNamespace(const Placement& placement, const ConfigView& config,
                        const JobRecord& job) {
  const auto& selectors = placement.selectors;
  const auto known = config.namespaces.find(job.ns);
  const Namespace ns = known == config.namespaces.end() ? Namespace{job.ns, {}, {}} : known->second;
  return std::any_of(selectors.begin(), selectors.end(), [&](const ResourceSelector& space) {
    if (!IsNamespace(space) || space.scope == SelectionScope::kNamespaceOnly) return false;
    if (!SelectsNamespace(space, ns)) return false;
    if (space.scope == SelectionScope::kNamespaceWithResources) return true;
    return std::any_of(selectors.begin(), selectors.end(), [&](const ResourceSelector& content) {
      return !IsNamespace(content) && Selects(content, job);
    });
  });
}

// The placement that selects the job; null if none does.
PlacementPtr BySelectors(const ConfigView& config, const JobRecord& job) {
  const PlacementTable& table = *config.placements;
  if (table.all().empty()) return nullptr;
  const GroupKind kind = GroupKindOf(job.shape);
  auto naming = table.Naming(job.ns, std::string(kind.group), std::string(kind.kind),
                             std::string(NameOf(job)));
  if (!naming.empty()) return std::move(naming.front());
  for (auto& placement : table.Selecting(job.ns)) {
    const auto& selectors = placement->selectors;
    const bool selects =
        std::any_of(selectors.begin(), selectors.end(),
                    [&](const ResourceSelector& selector) { return Selects(selector, job); });
    if (selects) return std::move(placement);
  }
  PlacementPtr first;
  // Both lists are in name order, so a later, larger name cannot win.
  const auto offer = [&](std::vector<PlacementPtr> placements) {
    for (auto& placement : placements) {
      if (first != nullptr && first->name <= placement->name) return;
      if (TakesWithNamespace(*placement, config, job)) first = std::move(placement);
    }
  };
  offer(table.Naming("", "", "Namespace", job.ns));
  offer(table.Selecting(""));
  return first;
}

// The placement name of the annotation muster.io/placement that counts for the job.
struct NamedPlacement {
  std::string_view name;  // "": no annotation
  std::string where;      // the object that has it: "LocalQueue ml/team"
};
// The job's own annotation, then those of LocalQueue, ClusterQueue and Namespace.
NamedPlacement NamedFor(const ConfigView& config, const JobRecord& job) {
  if (job.placement != nullptr && !job.placement->placement.empty()) {
    return {job.placement->placement, "the job"};
  }
  const auto local = config.local_queues.find({job.ns, job.local_queue});
  if (local != config.local_queues.end() && !local->second.placement.empty()) {
    return {local->second.placement, "LocalQueue " + job.ns + "/" + job.local_queue};
  }
  const auto queue = config.cluster_queues.find(job.cluster_queue);
  if (queue != config.cluster_queues.end() && !queue->second.placement.empty()) {
    return {queue->second.placement, "ClusterQueue " + job.cluster_queue};
  }
  const auto space = config.namespaces.find(job.ns);
  if (space != config.namespaces.end() && !space->second.placement.empty()) {
    return {space->second.placement, "Namespace " + job.ns};
  }
  return {};
}

// Since when the job waits: since it was submitted, or since its last attempt gave its quota back.
WallTime QueuedAt(const JobRecord& job) {
  const Condition* reserved = FindCondition(job, "QuotaReserved");
  // The time of the last transition to QuotaReserved=False is when its quota was given back.
  const bool tried = job.attempt > 0 || FindCondition(job, "Evicted") != nullptr;
  if (!tried || reserved == nullptr || reserved->status) return job.submit_time;
  return std::max(job.submit_time, reserved->last_transition);
}

}  // namespace

GroupKind GroupKindOf(ShapeKind shape) {
  const ShapeInfo& info = ShapeInfoOf(shape);
  return {info.group(), info.name};
}

bool SelectsNamespace(const ResourceSelector& selector, const Namespace& ns) {
  if (!IsNamespace(selector)) return false;
  if (!selector.name.empty()) return selector.name == ns.name;
  if (IsReservedNamespace(ns.name)) return false;
  if (!selector.labels) return true;
  LabelMap labels = ns.labels;
  // Kubernetes sets this label on every namespace.
  labels.emplace(kNamespaceNameLabel, ns.name);
  return Matches(*selector.labels, labels);
}

bool Selects(const ResourceSelector& selector, const JobRecord& job) {
  const GroupKind kind = GroupKindOf(job.shape);
  if (selector.group != kind.group || selector.kind != kind.kind) return false;
  if (!selector.name.empty()) return selector.name == NameOf(job);
  if (!selector.labels) return true;
  static const LabelMap kNone;
  return Matches(*selector.labels, job.placement == nullptr ? kNone : job.placement->labels);
}

PlacementPtr GoverningPlacement(const ConfigView& config, const JobRecord& job,
                                std::string* obstacle) {
  if (PlacementPtr selected = BySelectors(config, job)) return selected;
  const NamedPlacement named = NamedFor(config, job);
  if (named.name.empty()) return nullptr;
  const std::string name(named.name);
  PlacementPtr found = config.placements->Find(job.ns, name);
  if (found == nullptr) found = config.placements->Find("", name);
  if (found == nullptr && obstacle != nullptr) {
    *obstacle = "annotation muster.io/placement of " + named.where + " names " + name +
                ", but there is neither a ResourcePlacement " + job.ns + "/" + name +
                " nor a ClusterResourcePlacement " + name;
  }
  return found;
}

PlacementAsk AskOf(const ConfigView& config, const AdmissionSettings&, const JobRecord& job,
                   WallTime now) {
  PlacementAsk ask;
  ask.placement = GoverningPlacement(config, job, &ask.obstacle);
  if (ask.placement != nullptr) {
    const PlacementPolicy& policy = ask.placement->policy;
    if (policy.type == PlacementType::kPickN && policy.number_of_clusters == 0) {
      ask.obstacle = MentionOf(*ask.placement) + " picks no cluster: its numberOfClusters is 0";
    }
    // Only cluster groups depend on the time, so that other jobs of a class share one comparison.
    if (!policy.groups.empty()) {
      ask.waited_s = std::max<std::int64_t>(0, (now.us - QueuedAt(job).us) / kMicrosPerSecond);
    }
  }
  // The job's labels are only for selectors of placements and ask for nothing themselves.
  const JobPlacement* own = job.placement.get();
  if (own != nullptr && (!own->cluster.empty() || !own->datasets.empty())) ask.own = job.placement;
  ask.nodes = NodeChoiceOf(job);
  for (const AvoidedCluster& avoided : StateOf(job).avoided) {
    if (avoided.until > now) ask.avoided.push_back(avoided);
  }
  return ask;
}

// Each group's wait begins when the group before it opened.
std::int64_t NextGroupAfter(const PlacementPolicy& policy, std::int64_t waited_s) {
  std::int64_t opens = 0;
  for (std::size_t i = 0; i + 1 < policy.groups.size(); ++i) {
    opens = SaturatingAdd(opens, policy.groups[i].wait_s);
    if (opens > waited_s) return opens;
  }
  return -1;
}

}  // namespace muster::core
