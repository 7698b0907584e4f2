#include "api/service/object_status.h"

#include <vector>

#include "api/service/views.h"
#include "schedd/base/quantity.h"
#include "schedd/core/queue_status.h"

namespace muster::api {
namespace {

json::object Active(const StoredObject& object, bool active, const std::string& reason,
                    const std::string& message) {
  json::object condition = ConditionJson({"Active", reason, message, active, object.creation_time});
  condition["observedGeneration"] = object.generation;
  return condition;
}

struct FlavorAmount {
  std::string resource;
  std::int64_t total = 0, borrowed = 0;
};

json::array FlavorUsageJson(
    const std::vector<std::pair<std::string, std::vector<FlavorAmount>>>& flavors,
    bool with_borrowed) {
  json::array out;
  for (const auto& [flavor, amounts] : flavors) {
    json::array resources;
    for (const FlavorAmount& amount : amounts) {
      json::object resource;
      resource["name"] = amount.resource;
      resource["total"] = FormatQuantity(amount.resource, amount.total);
      if (with_borrowed) resource["borrowed"] = FormatQuantity(amount.resource, amount.borrowed);
      resources.push_back(std::move(resource));
    }
    out.push_back(json::object{{"name", flavor}, {"resources", std::move(resources)}});
  }
  return out;
}

core::Readiness ReadinessOf(const WorldView& view, const ClusterQueue& queue) {
  const core::QuotaTreePtr& known = view.usage.tree_ptr();
  const core::QuotaTreePtr tree = known != nullptr ? known : core::QuotaTree::Build(*view.config);
  return core::ReadinessOf(*view.config, *view.settings, *tree, queue, false);
}

}  // namespace

LocalQueueTable CountLocalQueues(const WorldView& view, const std::string& ns) {
  LocalQueueTable table;
  view.jobs.ForEach(JobId{}, [&](const JobPtr& job) {
    if (IsTerminal(job->state) || job->state == JobState::kHeld) return true;
    if (!ns.empty() && job->ns != ns) return true;
    LocalQueueTotals& totals = table[{job->ns, job->local_queue}];
    if (!HoldsQuota(job->state)) {
      ++totals.pending;
      return true;
    }
    ++totals.reserving;
    ++totals.admitted;
    if (job->admission == nullptr) return true;
    for (const PodSetAssignment& pod_set : job->admission->pod_sets) {
      for (const ResourceAmount& amount : pod_set.usage) {
        const auto flavor = pod_set.flavors.find(amount.resource);
        if (flavor == pod_set.flavors.end()) continue;
        std::int64_t& used = totals.usage[{flavor->second, amount.resource}];
        used = SaturatingAdd(used, amount.amount);
      }
    }
    return true;
  });
  return table;
}

json::object ClusterQueueStatus(const WorldView& view, const StoredObject& object) {
  json::object status;
  const auto found = view.config->cluster_queues.find(object.name);
  if (found == view.config->cluster_queues.end()) return status;
  const ClusterQueue& queue = found->second;
  const core::Readiness readiness = ReadinessOf(view, queue);
  status["conditions"] =
      json::array{Active(object, readiness.active, readiness.reason, readiness.message)};
  std::vector<std::pair<std::string, std::vector<FlavorAmount>>> flavors;
  const core::QuotaTreePtr& tree = view.usage.tree_ptr();
  const core::NodeIndex node = tree == nullptr ? -1 : tree->ClusterQueueIndex(object.name);
  for (const ResourceGroup& group : queue.resource_groups) {
    for (const FlavorQuotas& flavor : group.flavors) {
      std::vector<FlavorAmount> amounts;
      for (const auto& [resource, quota] : flavor.resources) {
        const core::FlavorResourceIndex pair =
            node < 0 ? -1 : tree->PairIndex(flavor.flavor, resource);
        FlavorAmount amount{resource};
        if (pair >= 0) {
          amount.total = view.usage.At(node, pair);
          amount.borrowed = view.usage.Borrowed(node, pair);
        }
        amounts.push_back(std::move(amount));
      }
      flavors.emplace_back(flavor.flavor, std::move(amounts));
    }
  }
  // Nothing stands between reservation and admission in this version, so both show the same
  // amounts.
  status["flavorsReservation"] = FlavorUsageJson(flavors, true);
  status["flavorsUsage"] = FlavorUsageJson(flavors, true);
  const auto stats = view.queues.find(object.name);
  const QueueStats counts = stats == view.queues.end() ? QueueStats{} : stats->second;
  status["pendingWorkloads"] = counts.active + counts.inadmissible;
  status["reservingWorkloads"] = counts.reserving;
  status["admittedWorkloads"] = counts.admitted;
  return status;
}

json::object LocalQueueStatus(const WorldView& view, const StoredObject& object,
                              const LocalQueueTotals& totals) {
  json::object status;
  const auto found = view.config->local_queues.find({object.ns, object.name});
  if (found == view.config->local_queues.end()) return status;
  const LocalQueue& queue = found->second;
  const auto target = view.config->cluster_queues.find(queue.cluster_queue);
  json::object active;
  if (queue.stop_policy != StopPolicy::kNone) {
    active = Active(object, false, "Stopped", "LocalQueue is stopped");
  } else if (target == view.config->cluster_queues.end()) {
    active = Active(object, false, "ClusterQueueDoesNotExist",
                    "Can't submit new workloads to clusterQueue");
  } else if (!ReadinessOf(view, target->second).active) {
    active = Active(object, false, "ClusterQueueIsInactive",
                    "Can't submit new workloads to clusterQueue");
  } else {
    active = Active(object, true, "Ready", "Can submit new workloads to localQueue");
  }
  status["conditions"] = json::array{std::move(active)};
  std::vector<std::pair<std::string, std::vector<FlavorAmount>>> flavors;
  if (target != view.config->cluster_queues.end()) {
    for (const ResourceGroup& group : target->second.resource_groups) {
      for (const FlavorQuotas& flavor : group.flavors) {
        std::vector<FlavorAmount> amounts;
        for (const auto& [resource, quota] : flavor.resources) {
          const auto used = totals.usage.find({flavor.flavor, resource});
          amounts.push_back({resource, used == totals.usage.end() ? 0 : used->second, 0});
        }
        flavors.emplace_back(flavor.flavor, std::move(amounts));
      }
    }
  }
  status["flavorsReservation"] = FlavorUsageJson(flavors, false);
  status["flavorsUsage"] = FlavorUsageJson(flavors, false);
  status["pendingWorkloads"] = totals.pending;
  status["reservingWorkloads"] = totals.reserving;
  status["admittedWorkloads"] = totals.admitted;
  return status;
}

json::object CohortStatus(const WorldView& view, const std::string& cohort) {
  json::array flavors;
  const core::QuotaTreePtr& tree = view.usage.tree_ptr();
  const core::NodeIndex node = tree == nullptr ? -1 : tree->CohortIndex(cohort);
  if (node >= 0) {
    const core::QuotaTree::Node& values = tree->node(node);
    for (std::size_t i = 0; i < tree->flavor_resource_count(); ++i) {
      const auto pair = static_cast<core::FlavorResourceIndex>(i);
      const std::int64_t subtree = i < values.subtree.size() ? values.subtree[i] : 0;
      const std::int64_t used = view.usage.At(node, pair);
      if (subtree == 0 && used == 0) continue;
      const auto& [flavor, resource] = tree->pair(pair);
      flavors.push_back(json::object{{"flavor", flavor},
                                     {"resource", resource},
                                     {"subtreeQuota", FormatQuantity(resource, subtree)},
                                     {"used", FormatQuantity(resource, used)}});
    }
  }
  json::object status;
  status["flavorsUsage"] = std::move(flavors);
  return status;
}

json::object MemberClusterStatus(const WorldView& view, const StoredObject& object) {
  json::object status;
  for (const core::ClusterView& cluster : view.clusters) {
    if (cluster.member.name != object.name) continue;
    const bool healthy = cluster.member.healthy;
    json::object joined = ConditionJson(
        {"Healthy", healthy ? "Reachable" : "Unreachable",
         healthy ? "the member cluster answers" : "the member cluster does not answer", healthy,
         object.creation_time});
    status["conditions"] = json::array{std::move(joined)};
    status["cordoned"] = cluster.member.cordoned;
    status["resourceUsage"] =
        json::object{{"capacity", ResourcesJson(cluster.member.allocatable)},
                     {"allocatable", ResourcesJson(cluster.member.allocatable)},
                     {"available", ResourcesJson(cluster.free)}};
  }
  return status;
}

}  // namespace muster::api
