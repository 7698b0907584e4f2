// Derives the status of ClusterQueues, LocalQueues, Cohorts and MemberClusters from the world view.
//
// Usage of a ClusterQueue comes from the quota tree of the published usage, which counts every job
// that holds quota. `flavorsReservation` is that amount; `flavorsUsage` is that amount less the
// quota of jobs whose admission checks are not ready (CountUnadmitted). The tree knows no
// LocalQueues, so their amounts are summed from the jobs. Whether a queue is active is decided by
// core::ReadinessOf, the same function that admission asks.
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

// Objects of one member that its status lists; the condition Quarantined counts all.
constexpr std::size_t kAsideShown = 20;

// The condition Active of an object.
json::object Active(const StoredObject& object, bool active, const std::string& reason,
                    const std::string& message) {
  json::object condition = ConditionJson({"Active", reason, message, active, object.creation_time});
  condition["observedGeneration"] = object.generation;
  return condition;
}

json::array FlavorUsageJson(const std::vector<core::FlavorUse>& flavors, bool with_borrowed) {
  json::array out;
  for (const core::FlavorUse& flavor : flavors) {
    json::array resources;
    for (const core::ResourceUse& use : flavor.resources) {
      json::object resource;
      resource["name"] = use.resource;
      resource["total"] = FormatQuantity(use.resource, use.total);
      if (with_borrowed) resource["borrowed"] = FormatQuantity(use.resource, use.borrowed);
      resources.push_back(std::move(resource));
    }
    out.push_back(json::object{{"name", flavor.flavor}, {"resources", std::move(resources)}});
  }
  return out;
}

// The LocalQueue's decayed usage for admission fair sharing (rule A42); nothing while that is off.
void PutFairUse(const WorldView& view, const StoredObject& object, json::object* status) {
  if (view.fair_uses == nullptr) return;
  const auto use = view.fair_uses->find({object.ns, object.name});
  if (use == view.fair_uses->end()) return;
  (*status)["fairSharing"] =
      json::object{{"admissionFairSharingStatus",
                    json::object{{"consumedResources", ResourcesJson(use->second.consumed)},
                                 {"lastUpdate", FormatRfc3339(use->second.updated)}}}};
}

// The view may have no quota tree yet; then one is built for this answer.
core::Readiness ReadinessOf(const WorldView& view, const ClusterQueue& queue) {
  const core::QuotaTreePtr& known = view.usage.tree_ptr();
  const core::QuotaTreePtr tree = known != nullptr ? known : core::QuotaTree::Build(*view.config);
  return core::ReadinessOf(*view.config, *view.settings, *tree, queue, false);
}

// Adds the quota that a job is charged to `amounts`.
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
    // Deactivated and gated jobs are not in the queue, so they are not pending.
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
  // The published counts say that no queue has such a job.
  if (!any) return unadmitted;
  view.jobs.ForEach(JobId{}, [&](const JobPtr& job) {
    if (job->state == JobState::kReserved && job->admission != nullptr)
      AddTo(&unadmitted[job->admission->cluster_queue], *job, *view.settings);
    return true;
  });
  return unadmitted;
}

// Amounts per flavor and resource are in the order of the queue's spec. `borrowed` is what is above
// the nominal quota, and 0 without a cohort to borrow from.
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
  // -1 without a tree, or if the tree is of an older configuration: then all amounts are 0.
  const core::NodeIndex node = tree == nullptr ? -1 : tree->ClusterQueueIndex(object.name);
  const auto use_without = [&](const Amounts& less) {
    return core::UseOf(queue, [&](const std::string& flavor, const std::string& resource) {
      const core::FlavorResourceIndex pair = node < 0 ? -1 : tree->PairIndex(flavor, resource);
      if (pair < 0) return std::int64_t{0};
      return SaturatingSub(view.usage.At(node, pair), AmountIn(less, flavor, resource));
    });
  };
  status["flavorsReservation"] = FlavorUsageJson(use_without({}), true);
  status["flavorsUsage"] = FlavorUsageJson(use_without(unadmitted), true);
  const auto stats = view.queues.find(object.name);
  const QueueStats counts = stats == view.queues.end() ? QueueStats{} : stats->second;
  status["pendingWorkloads"] = counts.active + counts.inadmissible;
  status["reservingWorkloads"] = counts.reserving;
  status["admittedWorkloads"] = counts.admitted;
  AddShare(view, node, &status);
  return status;
}

// A LocalQueue is active if it is not stopped and its ClusterQueue exists and is active. Messages
// are Kueue's.
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
        core::UseOf(target->second,
                    [&](const std::string& flavor,
                        const std::string& resource) { return AmountIn(held, flavor, resource); }),
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
      // Pairs of other parts of the tree do not concern this cohort.
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
  // Kueue's Cohort has no conditions; Muster adds one while the cohorts form a cycle.
  const std::vector<std::string> problems =
      ConfigWarnings(*view.config, ObjectKind::kCohort, cohort);
  if (!problems.empty())
    status["conditions"] = json::array{Active(object, false, "CohortCycle", problems.front())};
  return status;
}

// Lists the objects on a member that Muster leaves alone (`leftAlone`). Objects that are ahead of
// the database, after it lost writes, keep orphans from being collected until an administrator
// releases them: they also make the condition Quarantined, since the first of them was seen.
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

// KubeFleet's condition Joined and Muster's Healthy, then facts. Empty for a member that is not in
// the view yet.
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
        ConditionJson({"Healthy",
                       member.healthy   ? "Reachable"
                       : member.answers ? "Unhealthy"
                                        : "Unreachable",
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
