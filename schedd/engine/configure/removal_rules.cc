// An object that others need, or that jobs run by, may not be removed: the refusal names one of
// them.
#include "schedd/engine/configure/configuration.h"

#include "schedd/core/member/disruption.h"

namespace muster {
namespace {

Error InUse(std::string sentence) { return {Code::kFailedPrecondition, std::move(sentence)}; }

bool Uses(const ClusterQueue& queue, const std::string& flavor) {
  for (const ResourceGroup& group : queue.resource_groups) {
    for (const FlavorQuotas& quotas : group.flavors) {
      if (quotas.flavor == flavor) return true;
    }
  }
  return false;
}

}  // namespace

Status Configuration::CheckRemoval(const ConfigView& config, const ObjectChange& change) const {
  const std::string& name = change.name;
  switch (change.kind) {
    case ObjectKind::kNamespace:
      if (name == "default") return InUse("namespace default cannot be deleted");
      for (const auto& [id, job] : jobs_.all()) {
        if (job->ns == name && !IsTerminal(job->state)) {
          return InUse("namespace " + name + " has jobs that have not ended, such as job " +
                       std::to_string(id.value));
        }
      }
      break;
    case ObjectKind::kClusterQueue: {
      const auto stats = jobs_.planned().queues().find(name);
      if (stats != jobs_.planned().queues().end() && stats->second.reserving > 0) {
        return InUse("ClusterQueue " + name + " holds quota for " +
                     std::to_string(stats->second.reserving) +
                     " workloads: stop it or let them end first");
      }
      break;
    }
    case ObjectKind::kResourceFlavor:
      for (const auto& [queue_name, queue] : config.cluster_queues) {
        if (Uses(queue, name))
          return InUse("ResourceFlavor " + name + " is used by ClusterQueue " + queue_name);
      }
      break;
    case ObjectKind::kMemberCluster:
      for (const auto& [key, row] : rows_.all()) {
        if (key.cluster == name && IsLive(row.state)) {
          return InUse("member cluster " + name + " runs jobs, such as job " +
                       std::to_string(row.job.value) + ": drain it first");
        }
      }
      return held_ends_.CheckRemoval(name, rows_.all(), members_.Answers(name));
    case ObjectKind::kClusterResourcePlacementEviction:
    case ObjectKind::kResourcePlacementEviction:
      return CheckEvictionRemoval(config, change);
    default:
      break;
  }
  return Done{};
}

// By its status it is known what is to leave, until the row says so.
Status Configuration::CheckEvictionRemoval(const ConfigView& config,
                                           const ObjectChange& change) const {
  const auto found = config.placement_evictions.find({change.ns, change.name});
  if (found == config.placement_evictions.end()) return Done{};
  const PlacementEviction& eviction = found->second;
  const WorkKey key{change.ns, eviction.placement, eviction.cluster};
  const auto& works = works_.table().works;
  const auto work = works.find(key);
  if (work == works.end() || !eviction.executed_at.set() ||
      !core::IsEvicted(*work->second, {{key, eviction.executed_at}})) {
    return Done{};
  }
  return InUse("eviction " + change.name + " is being carried out on member cluster " +
               eviction.cluster + ": try again in a second");
}

}  // namespace muster
