// Conditions, admission checks and reservation of a workload, with Kueue's reasons and sentences.
// The record is the caller's own copy; conditions and the admission state in it are shared with
// other records, so each change makes a new list or state (SetCondition, ChangeState).
//
// The functions that take the admission away again are in eviction_lifecycle.cc.
#include "schedd/model/admission_lifecycle.h"

#include <algorithm>

#include "schedd/model/member_queues.h"

namespace muster {
namespace {

constexpr std::string_view kQuotaReserved = "QuotaReserved";
constexpr std::string_view kAdmitted = "Admitted";
constexpr std::string_view kEvicted = "Evicted";

bool Lists(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// True if some pod set has some resource of one of the flavors.
bool UsesFlavor(const Admission& admission, const std::vector<std::string>& flavors) {
  for (const auto& pod_set : admission.pod_sets) {
    for (const auto& [resource, flavor] : pod_set.flavors) {
      if (Lists(flavors, flavor)) return true;
    }
  }
  return false;
}

// Sets a condition that told of an earlier end to False: "Previously: ...".
void TurnOff(JobRecord* job, std::string_view type, WallTime now) {
  const Condition* condition = FindCondition(*job, type);
  if (condition == nullptr || !condition->status) return;
  const std::string message = "Previously: " + condition->message;
  SetCondition(job, type, false, kQuotaReserved, message, now);
}

}  // namespace

// A change of reason or message alone does not move the transition time.
void SetCondition(JobRecord* job, std::string_view type, bool status, std::string_view reason,
                  std::string_view message, WallTime now) {
  auto list = job->conditions == nullptr
                  ? std::make_shared<std::vector<Condition>>()
                  : std::make_shared<std::vector<Condition>>(*job->conditions);
  const auto found = std::find_if(list->begin(), list->end(),
                                  [&](const Condition& one) { return one.type == type; });
  if (found == list->end()) {
    list->push_back({std::string(type), std::string(reason), std::string(message), status, now});
  } else {
    if (found->status != status) found->last_transition = now;
    found->status = status;
    found->reason = reason;
    found->message = message;
  }
  job->conditions = std::move(list);
}

void DropCondition(JobRecord* job, std::string_view type) {
  if (FindCondition(*job, type) == nullptr) return;
  auto list = std::make_shared<std::vector<Condition>>(*job->conditions);
  std::erase_if(*list, [type](const Condition& one) { return one.type == type; });
  job->conditions = std::move(list);
}

// Records without a state share one empty state.
const AdmissionState& StateOf(const JobRecord& job) {
  static const AdmissionState kNone;
  return job.admission_state ? *job.admission_state : kNone;
}

// Without the gate Kueue has only "Waiting" (for other jobs' pods to be ready) and "Pending".
std::string_view WaitingReasonName(Reason reason, const AdmissionSettings& settings) {
  if (settings.unadmitted_observability) return ReasonName(reason);
  return reason == Reason::kWaitingForPodsReady ? "Waiting" : "Pending";
}

void ReserveQuota(JobRecord* job, AdmissionPtr admission, WallTime now) {
  SetCondition(job, kQuotaReserved, true, kQuotaReserved,
               "Quota reserved in ClusterQueue " + admission->cluster_queue, now);
  for (const std::string_view type :
       {kEvicted, std::string_view("Preempted"), std::string_view("BlockedOnPreemptionGates")}) {
    TurnOff(job, type, now);
  }
  job->admission = std::move(admission);
}

void MarkWaiting(JobRecord* job, Reason reason, const std::string& message,
                 const AdmissionSettings& settings, WallTime now) {
  SetCondition(job, kQuotaReserved, false, WaitingReasonName(reason, settings), message, now);
  SyncAdmitted(job, settings, now);
  if (settings.unadmitted_observability) {
    SetCondition(job, kAdmitted, false, "NoReservation", "The workload has no reservation", now);
  }
}

// Nominations of members belong to the reservation, so they end with it.
void ReleaseQuota(JobRecord* job, Reason reason, const std::string& message,
                  const AdmissionSettings& settings, WallTime now) {
  MarkWaiting(job, reason, message, settings, now);
  job->admission.reset();
  if (!StateOf(*job).nominated.empty())
    ChangeState(job, [](AdmissionState* state) { state->nominated.clear(); });
}

// The first reason that holds wins: no reservation, then checks, then topology requests.
bool SyncAdmitted(JobRecord* job, const AdmissionSettings& settings, WallTime now) {
  const Condition* before = FindCondition(*job, kAdmitted);
  const bool reserved = IsTrue(*job, kQuotaReserved);
  const bool was_admitted = before != nullptr && before->status;
  std::string_view reason = kAdmitted;
  std::string_view message = "The workload is admitted";
  if (!reserved) {
    reason = "NoReservation";
    message = "The workload has no reservation";
  } else if (!AllChecksReady(*job)) {
    reason = "UnsatisfiedAdmissionChecks";
    message = "The workload has not all checks ready";
  } else if (TopologyIsPending(*job)) {
    reason = "PendingDelayedTopologyRequests";
    message = "There are pending delayed topology requests";
  }
  const bool admitted = reason == kAdmitted;
  if (admitted == was_admitted && !settings.unadmitted_observability) return false;
  if (admitted == was_admitted &&
      (before == nullptr ? !reserved : before->reason == reason && before->message == message)) {
    return false;
  }
  if (was_admitted && !admitted) {
    const std::int64_t ran = (now.us - before->last_transition.us) / kMicrosPerSecond;
    ChangeState(job, [&](AdmissionState* state) { state->past_execution_s += ran; });
  }
  SetCondition(job, kAdmitted, admitted, reason, message, now);
  return true;
}

// A queue with a dispatch mode also has Muster's own check muster.io/member-queues.
std::vector<std::string> RequiredChecks(const ClusterQueue& queue, const Admission* admission) {
  std::vector<std::string> names;
  for (const auto& rule : queue.admission_checks) {
    const bool applies = rule.on_flavors.empty() ||
                         (admission != nullptr && UsesFlavor(*admission, rule.on_flavors));
    if (applies) names.push_back(rule.name);
  }
  if (queue.dispatch.mode != DispatchMode::kDirect) names.emplace_back(kMemberQueuesCheck);
  return names;
}

bool SyncChecks(JobRecord* job, const std::vector<std::string>& names, WallTime now) {
  const auto& before = StateOf(*job).checks;
  std::vector<AdmissionCheckStatus> after;
  for (const auto& check : before) {
    if (Lists(names, check.name)) after.push_back(check);
  }
  for (const auto& name : names) {
    const bool known = std::any_of(after.begin(), after.end(),
                                   [&](const auto& check) { return check.name == name; });
    if (known) continue;
    AdmissionCheckStatus fresh;
    fresh.name = name;
    fresh.last_transition = now;
    after.push_back(std::move(fresh));
  }
  if (after == before) return false;
  ChangeState(job, [&](AdmissionState* state) { state->checks = std::move(after); });
  return true;
}

bool AnyCheckIn(const JobRecord& job, CheckState wanted) {
  const auto& checks = StateOf(job).checks;
  return std::any_of(checks.begin(), checks.end(),
                     [&](const AdmissionCheckStatus& check) { return check.state == wanted; });
}

bool AllChecksReady(const JobRecord& job) {
  const auto& checks = StateOf(job).checks;
  return std::all_of(checks.begin(), checks.end(), [](const AdmissionCheckStatus& check) {
    return check.state == CheckState::kReady;
  });
}

bool TopologyIsPending(const JobRecord& job) {
  if (job.admission == nullptr) return false;
  const auto& pod_sets = job.admission->pod_sets;
  return std::any_of(pod_sets.begin(), pod_sets.end(), [](const PodSetAssignment& pod_set) {
    return pod_set.topology_delayed && pod_set.topology == nullptr;
  });
}

// The lowest level of a domain is the host name.
bool StandsOnUnhealthyNode(const JobRecord& job, const TopologyAssignment& topology) {
  const auto& unhealthy = StateOf(job).unhealthy_nodes;
  return std::any_of(topology.domains.begin(), topology.domains.end(), [&](const auto& domain) {
    return std::find(unhealthy.begin(), unhealthy.end(), domain.values.back()) != unhealthy.end();
  });
}

bool HasPodsOnUnhealthyNode(const JobRecord& job) {
  if (job.admission == nullptr || StateOf(job).unhealthy_nodes.empty()) return false;
  const auto& pod_sets = job.admission->pod_sets;
  return std::any_of(pod_sets.begin(), pod_sets.end(), [&](const PodSetAssignment& pod_set) {
    return pod_set.topology != nullptr && StandsOnUnhealthyNode(job, *pod_set.topology);
  });
}

// Unhealthy nodes come first: such a job is admitted already.
bool NeedsSecondPass(const JobRecord& job) {
  if (IsTerminal(job.state) || IsTrue(job, "Finished") || IsTrue(job, kEvicted)) return false;
  if (!IsTrue(job, kQuotaReserved) || job.admission == nullptr) return false;
  if (HasPodsOnUnhealthyNode(job)) return true;
  return !IsTrue(job, kAdmitted) && TopologyIsPending(job) && AllChecksReady(job);
}

}  // namespace muster
