// Which waiting jobs an edit may have given another placement (rule P1). A job is governed by a
// ResourcePlacement that names or selects it, by a ClusterResourcePlacement that takes its
// namespace, or by the placement that an annotation on the job, its LocalQueue, its ClusterQueue or
// its Namespace names. For each changed object one function names the jobs that any of these ways
// may lead to it: by name, by reference, or all jobs of a namespace. Selectors are read before and
// after the edit, because jobs that a placement selected and does not select any more are concerned
// too.
//
// The result is a superset: FollowPlacements compares each job under both configurations.
#include "schedd/engine/configure/placement_wakes.h"

#include <algorithm>

#include "schedd/base/find_in.h"
#include "schedd/core/member/placement_ask.h"

namespace muster {
namespace {

// True if the LocalQueue, or the ClusterQueue that it leads to, names the placement.
bool NamesIt(const ConfigView& config, const LocalQueue& local, const std::string& placement) {
  if (local.placement == placement) return true;
  const ClusterQueue* queue = FindIn(config.cluster_queues, local.cluster_queue);
  return queue != nullptr && queue->placement == placement;
}

// Adds the namespaces that name the placement themselves or contain a LocalQueue that does.
void AddNaming(const ConfigView& config, const std::string& placement,
               std::set<std::string>* namespaces) {
  for (const auto& [name, one] : config.namespaces) {
    if (one.placement == placement) namespaces->insert(name);
  }
  for (const auto& [key, local] : config.local_queues) {
    if (NamesIt(config, local, placement)) namespaces->insert(key.first);
  }
}

// The same question about one namespace.
bool IsNamedIn(const ConfigView& config, const std::string& ns, const std::string& placement) {
  const Namespace* one = FindIn(config.namespaces, ns);
  if (one != nullptr && one->placement == placement) return true;
  for (auto local = config.local_queues.lower_bound({ns, ""});
       local != config.local_queues.end() && local->first.first == ns; ++local) {
    if (NamesIt(config, local->second, placement)) return true;
  }
  return false;
}

// A selector with a name concerns the jobs of that name; any other one concerns its whole
// namespace.
void AddResourcePlacement(const ConfigView& before, const ConfigView& after, const std::string& ns,
                          const std::string& name, PlacementReach* reach) {
  for (const ConfigView* config : {&before, &after}) {
    const PlacementPtr placement = config->placements->Find(ns, name);
    if (placement == nullptr) continue;
    for (const ResourceSelector& selector : placement->selectors) {
      if (selector.name.empty()) {
        reach->namespaces.insert(ns);
      } else {
        reach->names.emplace(ns, selector.name);
      }
    }
  }
  if (IsNamedIn(after, ns, name)) reach->namespaces.insert(ns);
  reach->references.insert(name);
}

// Whole namespaces: those that its selectors take or took, and those that name it.
void AddClusterPlacement(const ConfigView& before, const ConfigView& after, const std::string& name,
                         PlacementReach* reach) {
  for (const ConfigView* config : {&before, &after}) {
    const PlacementPtr placement = config->placements->Find("", name);
    if (placement == nullptr) continue;
    for (const auto& [ns, one] : config->namespaces) {
      const auto& selectors = placement->selectors;
      if (std::any_of(selectors.begin(), selectors.end(), [&](const ResourceSelector& selector) {
            return core::SelectsNamespace(selector, one);
          })) {
        reach->namespaces.insert(ns);
      }
    }
  }
  AddNaming(after, name, &reach->namespaces);
  reach->references.insert(name);
}

// Cluster placements have no namespace, so they come first in the table.
bool HasClusterPlacements(const ConfigView& config) {
  const auto& all = config.placements->all();
  return !all.empty() && all.begin()->first.first.empty();
}

// Labels matter only where cluster placements select namespaces by them. A namespace that does not
// exist counts as one without labels and annotations.
void AddNamespace(const ConfigView& before, const ConfigView& after, const std::string& ns,
                  PlacementReach* reach) {
  static const Namespace kNone;
  const Namespace* found = FindIn(before.namespaces, ns);
  const Namespace& was = found == nullptr ? kNone : *found;
  found = FindIn(after.namespaces, ns);
  const Namespace& is = found == nullptr ? kNone : *found;
  const bool by_labels = HasClusterPlacements(before) || HasClusterPlacements(after);
  if (was.placement != is.placement || (by_labels && was.labels != is.labels))
    reach->namespaces.insert(ns);
}

// Compares what the LocalQueue and its ClusterQueue name; the LocalQueue may also lead to another
// queue now.
void AddLocalQueue(const ConfigView& before, const ConfigView& after,
                   const std::pair<std::string, std::string>& key, PlacementReach* reach) {
  const auto named = [&key](const ConfigView& config) {
    const LocalQueue* local = FindIn(config.local_queues, key);
    if (local == nullptr) return std::pair<std::string, std::string>();
    const ClusterQueue* queue = FindIn(config.cluster_queues, local->cluster_queue);
    return std::make_pair(local->placement, queue == nullptr ? std::string() : queue->placement);
  };
  if (named(before) != named(after)) reach->namespaces.insert(key.first);
}

// The namespaces of the LocalQueues that lead to it.
void AddClusterQueue(const ConfigView& before, const ConfigView& after, const std::string& name,
                     PlacementReach* reach) {
  const ClusterQueue* was = FindIn(before.cluster_queues, name);
  const ClusterQueue* is = FindIn(after.cluster_queues, name);
  if ((was == nullptr ? "" : was->placement) == (is == nullptr ? "" : is->placement)) return;
  for (const auto& [key, local] : after.local_queues) {
    if (local.cluster_queue == name) reach->namespaces.insert(key.first);
  }
}

}  // namespace

bool PlacementReach::Covers(const JobRecord& job) const {
  return namespaces.contains(job.ns) || names.contains({job.ns, job.name}) ||
         (job.placement != nullptr && references.contains(job.placement->placement));
}

PlacementReach ReachOf(const ConfigView& before, const ConfigView& after,
                       const std::vector<ObjectKey>& changed) {
  PlacementReach reach;
  for (const auto& [kind, ns, name] : changed) {
    switch (kind) {
      case ObjectKind::kResourcePlacement:
        AddResourcePlacement(before, after, ns, name, &reach);
        break;
      case ObjectKind::kClusterResourcePlacement:
        AddClusterPlacement(before, after, name, &reach);
        break;
      case ObjectKind::kNamespace:
        AddNamespace(before, after, name, &reach);
        break;
      case ObjectKind::kLocalQueue:
        AddLocalQueue(before, after, {ns, name}, &reach);
        break;
      case ObjectKind::kClusterQueue:
        AddClusterQueue(before, after, name, &reach);
        break;
      default:
        break;
    }
  }
  return reach;
}

}  // namespace muster
