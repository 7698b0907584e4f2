// The pure rules of going back to a queue (rule A15) and of back-off (rules A51, A52).
//
// EqualSpec and EqualToQueue compare two records of one workload. Pod sets are shared between
// records, so their pointers are compared first; a deep comparison is rare.
#include "schedd/core/plan/requeue.h"

#include <algorithm>

#include "schedd/base/quantity.h"
#include "schedd/core/preempt/eviction_pace.h"
#include "schedd/model/admission_lifecycle.h"

namespace muster::core {
namespace {

constexpr std::int64_t kMillion = 1'000'000;

// What equal pod sets must have in common: everything that the queue's rules read.
bool EqualPodSets(const JobRecord& a, const JobRecord& b) {
  if (a.pod_sets == b.pod_sets) return true;
  if (a.pod_sets == nullptr || b.pod_sets == nullptr) return false;
  const auto same = [](const PodSet& x, const PodSet& y) {
    const auto equal = [](const auto& p, const auto& q) {
      return p == q || (p != nullptr && q != nullptr && *p == *q);
    };
    return x.name == y.name && x.count == y.count && x.requests == y.requests &&
           x.min_count == y.min_count && equal(x.constraints, y.constraints) &&
           equal(x.topology, y.topology);
  };
  return std::equal(a.pod_sets->begin(), a.pod_sets->end(), b.pod_sets->begin(), b.pod_sets->end(),
                    same);
}

// Both absent counts as equal.
bool EqualCondition(const JobRecord& a, const JobRecord& b, std::string_view type) {
  const Condition* x = FindCondition(a, type);
  const Condition* y = FindCondition(b, type);
  return x == nullptr || y == nullptr ? x == y : *x == *y;
}

// True if some preemption gate of the workload is closed.
bool GateClosed(const AdmissionState& state) {
  return std::any_of(state.preemption_gates.begin(), state.preemption_gates.end(),
                     [](const PreemptionGate& gate) { return !gate.open; });
}

}  // namespace

// kNamespaceMismatch and kGated never go back at once, not even in a StrictFIFO queue: Kueue would
// not have these workloads in the queue at all.
bool RequeuesAtOnce(RequeueReason reason, bool strict_fifo) {
  switch (reason) {
    case RequeueReason::kNamespaceMismatch:
    case RequeueReason::kGated:
      return false;
    case RequeueReason::kFailedAfterNomination:
    case RequeueReason::kPendingPreemption:
    case RequeueReason::kPendingMigration:
    case RequeueReason::kPreemptionFailed:
      return true;
    default:
      return strict_fifo;
  }
}

// 255 earlier ends and the present one make 256 searches in a row (rule A15).
bool LastAssignment::Ended() const {
  constexpr std::size_t kMostResumed = 255;
  return !Pending() || before.size() >= kMostResumed ||
         std::find(before.begin(), before.end(), tried) != before.end();
}

bool LastAssignment::Pending() const {
  for (const auto& pod_set : tried) {
    for (const auto& [resource, index] : pod_set) {
      if (index != -1) return true;
    }
  }
  return false;
}

bool BackoffExpired(const JobRecord& job, WallTime now) {
  if (const Condition* requeued = FindCondition(job, "Requeued");
      requeued != nullptr && !requeued->status) {
    return false;
  }
  if (WaitsForBegin(job)) return false;
  const auto& at = StateOf(job).requeue_at;
  return !at || *at <= now;
}

bool EqualSpec(const JobRecord& a, const JobRecord& b) {
  const AdmissionState& x = StateOf(a);
  const AdmissionState& y = StateOf(b);
  return a.priority == b.priority && a.priority_class == b.priority_class &&
         a.local_queue == b.local_queue && a.cluster_queue == b.cluster_queue &&
         a.max_execution_s == b.max_execution_s && x.active == y.active &&
         x.replaces_slice == y.replaces_slice && x.allowed_flavors == y.allowed_flavors &&
         EqualPodSets(a, b);
}

bool EqualToQueue(const JobRecord& a, const JobRecord& b) {
  const AdmissionState& x = StateOf(a);
  const AdmissionState& y = StateOf(b);
  return EqualSpec(a, b) && a.priority_boost == b.priority_boost &&
         x.reclaimable == y.reclaimable && GateClosed(x) == GateClosed(y) &&
         EqualCondition(a, b, "Evicted") && EqualCondition(a, b, "Requeued");
}

// Doubling stops at the maximum, so a large count costs nothing and cannot overflow.
std::int64_t BackoffMicros(const WaitForPodsReady& settings, std::int32_t count,
                           std::int32_t jitter_millionths) {
  const std::int64_t most = SecondsToMicros(settings.backoff_max_s);
  std::int64_t wait = SecondsToMicros(settings.backoff_base_s);
  for (std::int32_t i = 1; i < count && wait < most; ++i) wait = SaturatingMul(wait, 2);
  wait = std::min(wait, most);
  const std::int64_t jitter = SaturatingMul(wait / kMillion, jitter_millionths);
  return std::min(SaturatingAdd(wait, jitter), most);
}

}  // namespace muster::core
