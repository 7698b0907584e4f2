// Which ClusterQueues an edit or new facts of a member concern (rule A16).
//
// For each kind of object one function compares the object before with the object after, field by
// field where fields matter, and names queues. The comparisons err on the side of waking: a
// difference that cannot be weighed (labels, taints) counts as help. They leave out fields that no
// decision reads, so that an edit of an annotation wakes nobody.
//
// Quota is the affair of a whole tree: what one queue may not use any more others may borrow or
// reclaim. So changes of queues and cohorts wake the trees before and after the edit; flavors,
// topologies, checks, LocalQueues and namespaces wake only the queues that refer to them. Members
// wake the queues with a flavor that the member may carry, and only if it can hold something that
// it could not hold before.
#include "schedd/engine/live/wakes.h"

#include <algorithm>

#include "schedd/base/find_in.h"

namespace muster {
namespace {

// All queues under one root cohort; a queue without a cohort is its own root.
void AddUnder(const ConfigTree& world, core::NodeIndex root, QueueNames* names) {
  for (const auto& [name, queue] : world.config.cluster_queues) {
    const core::NodeIndex node = world.tree.ClusterQueueIndex(name);
    if (node >= 0 && world.tree.node(node).root == root) names->insert(name);
  }
}

void AddCohort(const ConfigTree& world, const std::string& cohort, QueueNames* names) {
  const core::NodeIndex node = world.tree.CohortIndex(cohort);
  if (node >= 0) AddUnder(world, world.tree.node(node).root, names);
}

bool SamePreemption(const QueuePreemption& a, const QueuePreemption& b) {
  return a.within_cluster_queue == b.within_cluster_queue &&
         a.reclaim_within_cohort == b.reclaim_within_cohort &&
         a.borrow_within_cohort == b.borrow_within_cohort &&
         a.max_priority_threshold == b.max_priority_threshold;
}

// All fields of a ClusterQueue that decide about its jobs. Its placement annotation is not here:
// placement_wakes.h names the jobs that it concerns.
bool SameSpec(const ClusterQueue& a, const ClusterQueue& b) {
  return a.cohort == b.cohort && a.strategy == b.strategy &&
         a.namespace_selector == b.namespace_selector && a.when_can_borrow == b.when_can_borrow &&
         a.when_can_preempt == b.when_can_preempt && a.preference == b.preference &&
         SamePreemption(a.preemption, b.preemption) && a.fair_weight == b.fair_weight &&
         a.usage_based == b.usage_based && a.admission_checks == b.admission_checks &&
         a.concurrent_admission == b.concurrent_admission && a.stop_policy == b.stop_policy &&
         a.resource_groups == b.resource_groups;
}

// A queue that moved to another cohort wakes both trees.
void ChangedQueue(const ConfigTree& before, const ConfigTree& after, const std::string& name,
                  QueueNames* names) {
  const ClusterQueue* was = FindIn(before.config.cluster_queues, name);
  const ClusterQueue* is = FindIn(after.config.cluster_queues, name);
  if (was != nullptr && is != nullptr && SameSpec(*was, *is)) return;
  AddTree(before, name, names);
  AddTree(after, name, names);
}

void ChangedCohort(const ConfigTree& before, const ConfigTree& after, const std::string& name,
                   QueueNames* names) {
  const Cohort* was = FindIn(before.config.cohorts, name);
  const Cohort* is = FindIn(after.config.cohorts, name);
  if (was != nullptr && is != nullptr && was->parent == is->parent &&
      was->fair_weight == is->fair_weight && was->resource_groups == is->resource_groups) {
    return;
  }
  AddCohort(before, name, names);
  AddCohort(after, name, names);
}

bool HasFlavor(const ClusterQueue& queue, const std::set<std::string>& flavors) {
  for (const ResourceGroup& group : queue.resource_groups) {
    for (const FlavorQuotas& quotas : group.flavors) {
      if (flavors.contains(quotas.flavor)) return true;
    }
  }
  return false;
}

void AddWithFlavors(const ConfigView& config, const std::set<std::string>& flavors,
                    QueueNames* names) {
  for (const auto& [name, queue] : config.cluster_queues) {
    if (HasFlavor(queue, flavors)) names->insert(name);
  }
}

// A flavor that a queue names cannot be removed (removal_rules.cc), and the end of one that no
// queue names helps nobody.
void ChangedFlavor(const ConfigView& before, const ConfigView& after, const std::string& name,
                   QueueNames* names) {
  const ResourceFlavor* was = FindIn(before.flavors, name);
  const ResourceFlavor* is = FindIn(after.flavors, name);
  if (is == nullptr) return;
  if (was != nullptr && was->node_labels == is->node_labels &&
      was->node_taints == is->node_taints && was->tolerations == is->tolerations &&
      was->topology == is->topology) {
    return;
  }
  AddWithFlavors(after, {name}, names);
}

// A topology is reached by the flavors that name it.
void ChangedTopology(const ConfigView& before, const ConfigView& after, const std::string& name,
                     QueueNames* names) {
  const Topology* was = FindIn(before.topologies, name);
  const Topology* is = FindIn(after.topologies, name);
  if (is == nullptr || (was != nullptr && *was == *is)) return;
  std::set<std::string> flavors;
  for (const auto& [flavor, one] : after.flavors) {
    if (one.topology == name) flavors.insert(flavor);
  }
  AddWithFlavors(after, flavors, names);
}

// Only whether the check is active matters: an inactive check keeps its queues out (rule A19).
void ChangedCheck(const ConfigView& before, const ConfigView& after, const std::string& check,
                  QueueNames* names) {
  const AdmissionCheck* was = FindIn(before.admission_checks, check);
  const AdmissionCheck* is = FindIn(after.admission_checks, check);
  if ((was != nullptr && was->active) == (is != nullptr && is->active)) return;
  for (const auto& [name, queue] : after.cluster_queues) {
    const auto& rules = queue.admission_checks;
    if (std::any_of(rules.begin(), rules.end(),
                    [&](const AdmissionCheckRule& rule) { return rule.name == check; })) {
      names->insert(name);
    }
  }
}

// Both queues, as the jobs leave one and enter the other.
void ChangedLocalQueue(const ConfigView& before, const ConfigView& after, const std::string& ns,
                       const std::string& name, QueueNames* names) {
  const LocalQueue* was = FindIn(before.local_queues, {ns, name});
  const LocalQueue* is = FindIn(after.local_queues, {ns, name});
  if (was != nullptr && is != nullptr && was->cluster_queue == is->cluster_queue &&
      was->stop_policy == is->stop_policy && was->fair_weight == is->fair_weight) {
    return;
  }
  if (was != nullptr) names->insert(was->cluster_queue);
  if (is != nullptr) names->insert(is->cluster_queue);
}

// A queue without a selector takes every namespace, so that labels change nothing for it (rule A4).
bool Takes(const ClusterQueue& queue, const Namespace* ns) {
  return ns != nullptr && queue.namespace_selector &&
         Matches(*queue.namespace_selector, ns->labels);
}

// Only queues whose selector answers differently for the labels after the edit.
void ChangedNamespace(const ConfigView& before, const ConfigView& after, const std::string& ns,
                      QueueNames* names) {
  const Namespace* was = FindIn(before.namespaces, ns);
  const Namespace* is = FindIn(after.namespaces, ns);
  for (const auto& [name, queue] : after.cluster_queues) {
    if (Takes(queue, is) != Takes(queue, was)) names->insert(name);
  }
}

// True if `after` has more of any resource than `before`.
bool AnyAbove(const ResourceList& before, const ResourceList& after) {
  return std::any_of(after.begin(), after.end(),
                     [&](const auto& one) { return one.amount > AmountOf(before, one.resource); });
}

// True if pods may fit on the machine that did not before. A change of labels or taints counts,
// whatever it is: which pods it lets in is not compared.
bool BetterNode(const Node& before, const Node& after) {
  return (after.ready && !before.ready) || (!after.unschedulable && before.unschedulable) ||
         after.labels != before.labels || after.taints != before.taints ||
         AnyAbove(before.allocatable, after.allocatable) ||
         AnyAbove(after.used_by_others, before.used_by_others);
}

// True if a machine is new or better. Machines that went or got worse help nobody.
bool BetterNodes(const std::vector<Node>& before, const std::vector<Node>& after) {
  // A member that declares machines for the first time, or none any more, is asked for room in
  // another way.
  if (before.empty() != after.empty()) return true;  // known as machines, or as one
  return std::any_of(after.begin(), after.end(), [&](const Node& node) {
    const auto was = std::find_if(before.begin(), before.end(),
                                  [&](const Node& one) { return one.name == node.name; });
    return was == before.end() || BetterNode(*was, node);
  });
}

// Properties and the like decide in placements (rules P6 to P8) and for kinds of jobs, and cannot
// be weighed.
bool SaysOther(const MemberCluster& before, const MemberCluster& after) {
  const bool same_kinds =
      before.kinds == after.kinds ||
      (before.kinds != nullptr && after.kinds != nullptr && *before.kinds == *after.kinds);
  return !same_kinds || before.properties != after.properties ||
         before.datasets != after.datasets || before.capacity != after.capacity ||
         before.node_count != after.node_count || before.version != after.version;
}

// A member that gets no new job (it does not answer, or is cordoned) helps nobody.
bool MayHoldMore(const MemberCluster& before, const MemberCluster& after) {
  if (!after.healthy || after.cordoned) return false;
  return !before.healthy || before.cordoned || SaysOther(before, after) ||
         before.labels != after.labels || before.taints != after.taints ||
         (after.any_flavor && !before.any_flavor) ||
         AnyAbove(before.allocatable, after.allocatable) || BetterNodes(before.nodes, after.nodes);
}

// True if the member has the flavor's labels. With `any_flavor` a label that the member lacks does
// not matter; one with another value does.
bool MayCarry(const MemberCluster& member, const ResourceFlavor& flavor) {
  return std::all_of(flavor.node_labels.begin(), flavor.node_labels.end(), [&](const auto& label) {
    const auto found = member.labels.find(label.first);
    return found == member.labels.end() ? member.any_flavor : found->second == label.second;
  });
}

}  // namespace

void AddTree(const ConfigTree& world, const std::string& cluster_queue, QueueNames* names) {
  const core::NodeIndex node = world.tree.ClusterQueueIndex(cluster_queue);
  if (node >= 0) AddUnder(world, world.tree.node(node).root, names);
}

// A new member (`before` is null) helps if it may get jobs.
QueueNames WokenByMember(const MemberCluster* before, const MemberCluster& after,
                         const ConfigView& config) {
  QueueNames names;
  const bool helps =
      before == nullptr ? after.healthy && !after.cordoned : MayHoldMore(*before, after);
  if (!helps) return names;
  std::set<std::string> flavors;
  for (const auto& [name, flavor] : config.flavors) {
    if (MayCarry(after, flavor)) flavors.insert(name);
  }
  AddWithFlavors(config, flavors, &names);
  return names;
}

// Kinds that are not in the switch (placements, overrides, priority classes and others) wake in
// other ways or not at all. Queues that the edit has removed are left out in the end.
QueueNames WokenBy(const ConfigTree& before, const ConfigTree& after,
                   const std::vector<ObjectKey>& changed) {
  QueueNames names;
  for (const auto& [kind, ns, name] : changed) {
    switch (kind) {
      case ObjectKind::kClusterQueue:
        ChangedQueue(before, after, name, &names);
        break;
      case ObjectKind::kCohort:
        ChangedCohort(before, after, name, &names);
        break;
      case ObjectKind::kResourceFlavor:
        ChangedFlavor(before.config, after.config, name, &names);
        break;
      case ObjectKind::kTopology:
        ChangedTopology(before.config, after.config, name, &names);
        break;
      case ObjectKind::kAdmissionCheck:
        ChangedCheck(before.config, after.config, name, &names);
        break;
      case ObjectKind::kLocalQueue:
        ChangedLocalQueue(before.config, after.config, ns, name, &names);
        break;
      case ObjectKind::kNamespace:
        ChangedNamespace(before.config, after.config, name, &names);
        break;
      case ObjectKind::kMemberCluster:
        if (const MemberCluster* is = FindIn(after.config.member_clusters, name))
          names.merge(
              WokenByMember(FindIn(before.config.member_clusters, name), *is, after.config));
        break;
      default:
        break;
    }
  }
  std::erase_if(
      names, [&](const std::string& name) { return !after.config.cluster_queues.contains(name); });
  return names;
}

}  // namespace muster
