#include "tests/property/oracle/translate.h"

#include <algorithm>

namespace muster::oracle {
namespace {

constexpr const char* kNamespace = "default";

WallTime At(int seconds) { return {seconds * kMicrosPerSecond}; }

std::vector<ResourceGroup> GroupsOf(const World& world, const Place& place,
                                    const std::vector<Group>& groups) {
  std::vector<ResourceGroup> out;
  for (const Group& group : groups) {
    ResourceGroup& to = out.emplace_back();
    for (const int resource : group.resources) {
      to.covered_resources.push_back(world.resources[static_cast<std::size_t>(resource)]);
    }
    for (const int flavor : group.flavors) {
      FlavorQuotas quotas{world.flavors[static_cast<std::size_t>(flavor)].name, {}};
      for (const int resource : group.resources) {
        Quota quota;
        const auto it = place.quotas.find(world.Pair(flavor, resource));
        if (it != place.quotas.end()) {
          quota = {it->second.nominal, it->second.borrowing, it->second.lending};
        }
        quotas.resources.emplace_back(world.resources[static_cast<std::size_t>(resource)], quota);
      }
      to.flavors.push_back(quotas);
    }
  }
  return out;
}

// A cohort has quotas but no groups of its own: one group of everything says the same.
std::vector<Group> Everything(const World& world) {
  Group group;
  for (int i = 0; i < static_cast<int>(world.resources.size()); ++i) group.resources.push_back(i);
  for (int i = 0; i < static_cast<int>(world.flavors.size()); ++i) group.flavors.push_back(i);
  return {group};
}

std::string CohortName(const World& world, int cohort) {
  return cohort < 0 ? "" : world.cohorts[static_cast<std::size_t>(cohort)].name;
}

ClusterQueue QueueOf(const World& world, const Queue& queue) {
  ClusterQueue out;
  out.name = queue.name;
  out.cohort = CohortName(world, queue.cohort);
  out.strategy = queue.strict ? QueueingStrategy::kStrictFifo : QueueingStrategy::kBestEffortFifo;
  out.namespace_selector = LabelSelector{};
  out.resource_groups = GroupsOf(world, queue, queue.groups);
  out.when_can_borrow =
      queue.stops_at_borrow ? FungibilityPolicy::kMayStopSearch : FungibilityPolicy::kTryNextFlavor;
  out.when_can_preempt = queue.stops_at_preempt ? FungibilityPolicy::kMayStopSearch
                                                : FungibilityPolicy::kTryNextFlavor;
  if (queue.preempt_before_borrow) {
    out.preference = FungibilityPreference::kPreemptionOverBorrowing;
  }
  static const PreemptionPolicy kPolicies[] = {
      PreemptionPolicy::kNever, PreemptionPolicy::kLowerPriority,
      PreemptionPolicy::kLowerOrNewerEqualPriority, PreemptionPolicy::kAny};
  out.preemption.within_cluster_queue = kPolicies[static_cast<int>(queue.within)];
  out.preemption.reclaim_within_cohort = kPolicies[static_cast<int>(queue.reclaim)];
  if (queue.borrow_while_preempting) {
    out.preemption.borrow_within_cohort = PreemptionPolicy::kLowerPriority;
  }
  if (queue.threshold) out.preemption.max_priority_threshold = *queue.threshold;
  out.fair_weight = queue.weight;
  return out;
}

PodSets PodSetsOf(const World& world, const Workload& of) {
  PodSets out;
  for (const Pods& pods : of.pods) {
    PodSet& to = out.emplace_back();
    to.name = "p" + std::to_string(out.size());
    to.count = pods.count;
    to.min_count = pods.min_count;
    for (const auto& [resource, amount] : pods.requests) {
      SetAmount(&to.requests, world.resources[static_cast<std::size_t>(resource)], amount);
    }
    auto constraints = std::make_shared<SchedulingConstraints>();
    for (const auto& [key, value] : pods.selector) constraints->node_selector[key] = value;
    for (const auto& key : pods.tolerates) {
      constraints->tolerations.push_back({key, "Exists", "", "", {}});
    }
    to.constraints = constraints;
  }
  return out;
}

Admission AdmissionOf(const World& world, const Workload& of, const PodSets& pod_sets) {
  Admission out;
  out.cluster_queue = world.queues[static_cast<std::size_t>(of.queue)].name;
  for (std::size_t i = 0; i < of.pods.size(); ++i) {
    PodSetAssignment& to = out.pod_sets.emplace_back();
    to.name = pod_sets[i].name;
    to.count = of.holding->counts[i];
    for (const auto& [resource, flavor] : of.holding->flavors[i]) {
      const std::string& name = world.resources[static_cast<std::size_t>(resource)];
      to.flavors[name] = world.flavors[static_cast<std::size_t>(flavor)].name;
      SetAmount(&to.usage, name, of.pods[i].requests.at(resource) * to.count);
    }
  }
  return out;
}

}  // namespace

ConfigPtr ConfigOf(const World& world) {
  auto config = std::make_shared<ConfigView>();
  config->namespaces[kNamespace] = {kNamespace, {}};
  for (const Flavor& flavor : world.flavors) {
    ResourceFlavor to;
    to.name = flavor.name;
    for (const auto& [key, value] : flavor.labels) to.node_labels[key] = value;
    if (!flavor.taint.empty()) to.node_taints = {{flavor.taint, "true", "NoSchedule"}};
    config->flavors[to.name] = to;
  }
  for (const Place& cohort : world.cohorts) {
    Cohort to;
    to.name = cohort.name;
    to.parent = CohortName(world, cohort.cohort);
    to.fair_weight = cohort.weight;
    if (!cohort.quotas.empty()) to.resource_groups = GroupsOf(world, cohort, Everything(world));
    config->cohorts[to.name] = to;
  }
  for (const Queue& queue : world.queues) {
    config->cluster_queues[queue.name] = QueueOf(world, queue);
    LocalQueue local;
    local.ns = kNamespace;
    local.name = local.cluster_queue = queue.name;
    config->local_queues[{kNamespace, queue.name}] = local;
  }
  return config;
}

AdmissionSettingsPtr SettingsOf(const World& world) {
  auto settings = std::make_shared<AdmissionSettings>();
  if (world.settings.fair) {
    settings->fair_sharing.emplace();
    for (const Strategy strategy : world.settings.strategies) {
      settings->fair_sharing->push_back(strategy == Strategy::kFinalShare
                                            ? FairStrategy::kLessThanOrEqualToFinalShare
                                            : FairStrategy::kLessThanInitialShare);
    }
  }
  settings->fair_preempt_within_nominal = world.settings.preempt_within_nominal;
  settings->fair_prioritize_non_borrowing = world.settings.prioritize_non_borrowing;
  settings->recompute_on_overlap = world.settings.recompute_on_overlap;
  settings->equivalence_hashing = world.settings.hashing;
  settings->partial_admission = world.settings.partial_admission;
  settings->orchestrated_preemption = true;
  return settings;
}

JobPtr RecordOf(const World& world, int workload) {
  const Workload& of = world.workloads[static_cast<std::size_t>(workload)];
  auto job = std::make_shared<JobRecord>();
  job->id = {workload + 1};
  job->uid = {0, static_cast<std::uint64_t>(workload) + 1};
  job->name = job->display_name = of.name;
  job->ns = kNamespace;
  job->local_queue = job->cluster_queue = world.queues[static_cast<std::size_t>(of.queue)].name;
  job->priority = of.priority;
  job->submit_time = At(of.created);
  job->accept_seq = workload + 1;
  const PodSets pod_sets = PodSetsOf(world, of);
  job->pod_sets = std::make_shared<const PodSets>(pod_sets);
  if (of.gated) {
    auto state = std::make_shared<AdmissionState>();
    state->preemption_gates = {{"gate", false}};
    job->admission_state = state;
  }
  if (!of.holding) return job;
  job->state = JobState::kRunning;
  job->admission = std::make_shared<const Admission>(AdmissionOf(world, of, pod_sets));
  job->admit_time = At(of.holding->reserved_at);
  std::vector<Condition> conditions = {
      {"QuotaReserved", "QuotaReserved", "", true, At(of.holding->reserved_at)}};
  if (of.evicting) conditions.push_back({"Evicted", "Preempted", "", true, At(world.clock)});
  job->conditions = std::make_shared<const std::vector<Condition>>(conditions);
  return job;
}

Holding HoldingOf(const World& world, int workload, const Admission& admission) {
  const auto index = [](const auto& all, const auto& is) {
    return static_cast<int>(std::find_if(all.begin(), all.end(), is) - all.begin());
  };
  Holding holding;
  holding.reserved_at = world.clock;
  const Workload& of = world.workloads[static_cast<std::size_t>(workload)];
  for (std::size_t i = 0; i < of.pods.size() && i < admission.pod_sets.size(); ++i) {
    holding.counts.push_back(admission.pod_sets[i].count);
    auto& flavors = holding.flavors.emplace_back();
    for (const auto& [resource, flavor] : admission.pod_sets[i].flavors) {
      flavors[index(world.resources, [&](const std::string& name) { return name == resource; })] =
          index(world.flavors, [&](const Flavor& known) { return known.name == flavor; });
    }
  }
  return holding;
}

Reason ReasonOf(Cause cause) {
  switch (cause) {
    case Cause::kOwnQueue:
      return Reason::kInClusterQueue;
    case Cause::kReclamation:
      return Reason::kInCohortReclamation;
    case Cause::kFairSharing:
      return Reason::kInCohortFairSharing;
    case Cause::kReclaimWhileBorrowing:
      return Reason::kInCohortReclaimWhileBorrowing;
  }
  return Reason::kNone;
}

Reason ReasonOf(WaitReason why) {
  switch (why) {
    case WaitReason::kNone:
      return Reason::kNone;
    case WaitReason::kWaitingForQuota:
      return Reason::kWaitingForQuota;
    case WaitReason::kExceedsMaxQuota:
      return Reason::kExceedsMaxQuota;
    case WaitReason::kNoMatchingFlavor:
      return Reason::kNoMatchingFlavor;
    case WaitReason::kWaitingForPreempted:
      return Reason::kWaitingForPreemptedWorkloads;
    case WaitReason::kPreemptionGated:
      return Reason::kNone;
  }
  return Reason::kNone;
}

}  // namespace muster::oracle
