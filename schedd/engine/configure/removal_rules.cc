// What may not be removed. An object that other objects need, or that jobs run by, stays; the
// refusal is kFailedPrecondition with a sentence that names one of them. All other objects may go;
// if a job or a queue still refers to one, it waits with a sentence (rules A11, A19) until the
// object is there again.
//
// Removals that schedd/propagation has yet to learn of are refused for a moment
// (CheckEvictionRemoval), and so is that of a member that holds ends for us (HeldEnds, rule D12).
#include "schedd/engine/configure/configuration.h"

#include "schedd/core/member/disruption.h"

namespace muster {
namespace {

// kFailedPrecondition.
Error InUse(std::string sentence) { return {Code::kFailedPrecondition, std::move(sentence)}; }

// True if the queue has quota in this flavor.
bool Uses(const ClusterQueue& queue, const std::string& flavor) {
  for (const ResourceGroup& group : queue.resource_groups) {
    for (const FlavorQuotas& quotas : group.flavors) {
      if (quotas.flavor == flavor) return true;
    }
  }
  return false;
}

}  // namespace

// `config` is the draft, so a command may remove a queue and its flavor together. Jobs are those of
// the live world.
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

// schedd/propagation learns from the status of an eviction object that configuration objects have
// to leave (eviction_objects.cc). The object stays until the row of the work says so itself.
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
