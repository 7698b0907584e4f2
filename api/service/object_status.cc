#include "api/service/object_status.h"

#include <algorithm>
#include <vector>

#include "api/service/config_warnings.h"
#include "api/service/member_facts.h"
#include "api/service/registered_member.h"
#include "api/service/views.h"
#include "schedd/base/quantity.h"
#include "schedd/core/quota/fair_share.h"
#include "schedd/core/quota/queue_status.h"
#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/requests.h"

namespace muster::api {
namespace {

constexpr std::size_t kAsideShown = 20;  // objects of one member; the condition counts them all

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

// What admission fair sharing knows of the queue (rule A42); nothing while it is off.
void PutFairUse(const WorldView& view, const StoredObject& object, json::object* status) {
  if (view.fair_uses == nullptr) return;
  const auto use = view.fair_uses->find({object.ns, object.name});
  if (use == view.fair_uses->end()) return;
  (*status)["fairSharing"] =
      json::object{{"admissionFairSharingStatus",
                    json::object{{"consumedResources", ResourcesJson(use->second.consumed)},
                                 {"lastUpdate", FormatRfc3339(use->second.updated)}}}};
}

core::Readiness ReadinessOf(const WorldView& view, const ClusterQueue& queue) {
  const core::QuotaTreePtr& known = view.usage.tree_ptr();
  const core::QuotaTreePtr tree = known != nullptr ? known : core::QuotaTree::Build(*view.config);
  return core::ReadinessOf(*view.config, *view.settings, *tree, queue, false);
}

void AddTo(Amounts* amounts, const JobRecord& job, const AdmissionSettings& settings) {
  const AdmissionPtr charged = ChargedAdmission(job, settings);
  if (charged == nullptr) return;
  for (const PodSetAssignment& pod_set : charged->pod_sets) {
    for (const ResourceAmount& amount : pod_set.usage) {
      const auto flavor = pod_set.flavors.find(amount.resource);
      if (flavor == pod_set.flavors.end()) continue;
      std::int64_t& sum = (*amounts)[{flavor->second, amount.resource}];
      sum = SaturatingAdd(sum, amount.amount);
    }
  }
}

using FlavorAmounts = std::vector<std::pair<std::string, std::vector<FlavorAmount>>>;

/// `amount` of each flavor and resource of a queue, in the order of its spec.
template <class Amount>
FlavorAmounts AmountsOf(const ClusterQueue& queue, const Amount& amount) {
  FlavorAmounts flavors;
  for (const ResourceGroup& group : queue.resource_groups) {
    for (const FlavorQuotas& flavor : group.flavors) {
      std::vector<FlavorAmount> amounts;
      for (const auto& [resource, quota] : flavor.resources)
        amounts.push_back(amount(flavor.flavor, resource, quota));
      flavors.emplace_back(flavor.flavor, std::move(amounts));
    }
  }
  return flavors;
}

/// status.fairSharing of a ClusterQueue or Cohort, if fair sharing is on.
void AddShare(const WorldView& view, core::NodeIndex node, json::object* status) {
  if (!view.settings->fair_sharing || node < 0) return;
  (*status)["fairSharing"] =
      json::object{{"weightedShare", core::ShareOf(view.usage, node).Rounded()}};
}

}  // namespace

std::int64_t AmountIn(const Amounts& amounts, const std::string& flavor,
                      const std::string& resource) {
  const auto found = amounts.find({flavor, resource});
  return found == amounts.end() ? 0 : found->second;
}

LocalQueueTable CountLocalQueues(const WorldView& view, const std::string& ns) {
  LocalQueueTable table;
  view.jobs.ForEach(JobId{}, [&](const JobPtr& job) {
    if (IsTerminal(job->state) || job->state == JobState::kHeld) return true;
    if (!ns.empty() && job->ns != ns) return true;
    const bool holds = HoldsQuota(job->state);
    // Like the queue itself, which takes neither.
    if (!holds && (!StateOf(*job).active || !StateOf(*job).admission_gated_by.empty())) return true;
    LocalQueueTotals& totals = table[{job->ns, job->local_queue}];
    if (!holds) {
      ++totals.pending;
      return true;
    }
    ++totals.reserving;
    AddTo(&totals.reserved, *job, *view.settings);
    if (!IsDispatched(job->state)) return true;
    ++totals.admitted;
    AddTo(&totals.used, *job, *view.settings);
    return true;
  });
  return table;
}

std::map<std::string, Amounts> CountUnadmitted(const WorldView& view) {
  std::map<std::string, Amounts> unadmitted;
  const bool any = std::any_of(view.queues.begin(), view.queues.end(), [](const auto& queue) {
    return queue.second.reserving != queue.second.admitted;
  });
  if (!any) return unadmitted;
  view.jobs.ForEach(JobId{}, [&](const JobPtr& job) {
    if (job->state == JobState::kReserved && job->admission != nullptr)
      AddTo(&unadmitted[job->admission->cluster_queue], *job, *view.settings);
    return true;
  });
  return unadmitted;
}

json::object ClusterQueueStatus(const WorldView& view, const StoredObject& object,
                                const Amounts& unadmitted) {
  json::object status;
  const auto found = view.config->cluster_queues.find(object.name);
  if (found == view.config->cluster_queues.end()) return status;
  const ClusterQueue& queue = found->second;
  const core::Readiness readiness = ReadinessOf(view, queue);
  status["conditions"] =
      json::array{Active(object, readiness.active, readiness.reason, readiness.message)};
  const core::QuotaTreePtr& tree = view.usage.tree_ptr();
  const core::NodeIndex node = tree == nullptr ? -1 : tree->ClusterQueueIndex(object.name);
  const auto amount = [&](const std::string& flavor, const std::string& resource,
                          const Quota& quota, std::int64_t less) {
    const core::FlavorResourceIndex pair = node < 0 ? -1 : tree->PairIndex(flavor, resource);
    FlavorAmount out{resource};
    if (pair < 0) return out;
    out.total = SaturatingSub(view.usage.At(node, pair), less);
    if (!queue.cohort.empty())
      out.borrowed = std::max<std::int64_t>(0, SaturatingSub(out.total, quota.nominal));
    return out;
  };
  status["flavorsReservation"] = FlavorUsageJson(
      AmountsOf(queue, [&](const auto& flavor, const auto& resource,
                           const Quota& quota) { return amount(flavor, resource, quota, 0); }),
      true);
  status["flavorsUsage"] = FlavorUsageJson(
      AmountsOf(queue,
                [&](const auto& flavor, const auto& resource, const Quota& quota) {
                  return amount(flavor, resource, quota, AmountIn(unadmitted, flavor, resource));
                }),
      true);
  const auto stats = view.queues.find(object.name);
  const QueueStats counts = stats == view.queues.end() ? QueueStats{} : stats->second;
  status["pendingWorkloads"] = counts.active + counts.inadmissible;
  status["reservingWorkloads"] = counts.reserving;
  status["admittedWorkloads"] = counts.admitted;
  AddShare(view, node, &status);
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
  const auto amounts = [&](const Amounts& held) {
    if (target == view.config->cluster_queues.end()) return json::array();
    return FlavorUsageJson(
        AmountsOf(target->second,
                  [&](const auto& flavor, const auto& resource, const Quota&) {
                    return FlavorAmount{resource, AmountIn(held, flavor, resource), 0};
                  }),
        false);
  };
  status["flavorsReservation"] = amounts(totals.reserved);
  status["flavorsUsage"] = amounts(totals.used);
  status["pendingWorkloads"] = totals.pending;
  status["reservingWorkloads"] = totals.reserving;
  status["admittedWorkloads"] = totals.admitted;
  PutFairUse(view, object, &status);
  return status;
}

json::object CohortStatus(const WorldView& view, const StoredObject& object) {
  const std::string& cohort = object.name;
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
  AddShare(view, node, &status);
  // Kueue's Cohort has no conditions: this one is there as long as something is wrong.
  const std::vector<std::string> problems =
      ConfigWarnings(*view.config, ObjectKind::kCohort, cohort);
  if (!problems.empty())
    status["conditions"] = json::array{Active(object, false, "CohortCycle", problems.front())};
  return status;
}

// What is left alone on a member; what is ahead of the database keeps orphans from being collected.
void AddQuarantine(const WorldView& view, const std::string& member, json::object* status,
                   json::array* conditions) {
  json::array aside;
  std::size_t ahead = 0;
  WallTime since;
  for (auto one = view.set_aside->lower_bound({member, ""});
       one != view.set_aside->end() && one->first.first == member; ++one) {
    const SetAsideObject& object = one->second;
    if (object.reason == SetAsideReason::kAhead && !object.released) {
      ++ahead;
      if (!since.set() || object.first_seen < since) since = object.first_seen;
    }
    if (aside.size() >= kAsideShown) continue;
    aside.push_back(json::object{{"kind", object.object.kind},
                                 {"namespace", object.object.ns},
                                 {"name", object.object.name},
                                 {"uid", object.remote_uid},
                                 {"why", SetAsideReasonText(object.reason)},
                                 {"released", object.released},
                                 {"firstSeen", FormatRfc3339(object.first_seen)}});
  }
  if (!aside.empty()) (*status)["leftAlone"] = std::move(aside);
  if (ahead == 0) return;
  conditions->push_back(ConditionJson(
      {"Quarantined", "AheadOfDatabase",
       std::to_string(ahead) +
           " objects are ahead of the database, which has lost writes: nothing is collected here "
           "until an administrator releases them (muster cluster collect " +
           member + ")",
       true, since}));
}

json::object MemberClusterStatus(const WorldView& view, const StoredObject& object) {
  json::object status;
  for (const core::ClusterView& cluster : view.clusters) {
    const MemberCluster& member = cluster.member;
    if (member.name != object.name) continue;
    json::array conditions{
        ConditionJson({"Joined", "MemberClusterJoined",
                       KubeconfigSecretOf(object).empty() ? "the daemon's flags declare it"
                                                          : "it was added to the registry",
                       true, object.creation_time}),
        ConditionJson({"Healthy", member.healthy ? "Reachable" : "Unreachable",
                       !member.message.empty() ? member.message
                       : member.healthy        ? "the member cluster answers"
                                               : "the member cluster does not answer",
                       member.healthy, object.creation_time})};
    AddQuarantine(view, object.name, &status, &conditions);
    status["conditions"] = std::move(conditions);
    status["cordoned"] = member.cordoned;
    if (member.draining) status["draining"] = true;
    if (member.observed_at.set()) status["observedAt"] = FormatRfc3339(member.observed_at);
    status["properties"] = PropertiesJson(member);
    status["resourceUsage"] = UsageJson(cluster);
  }
  return status;
}

}  // namespace muster::api
