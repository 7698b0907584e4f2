// Variants (concurrent admission, KEP-8691, rule A57). A job of a ClusterQueue with this policy is
// a parent and is never queued itself; each flavor of the queue is tried by a variant, a copy of
// the job's record that may use that flavor alone. The first variant that is admitted gives the job
// its admission (Attempts::Admit).
//
// While the job waits there is one variant for each flavor. While it runs there are variants only
// for better flavors, and only if the policy migrates: a variant that is admitted then moves the
// job by an eviction FlavorMigration. A parent whose queue lost the policy waits as one variant for
// any flavor, because a parent cannot be queued.
#include "schedd/engine/jobs/variants.h"

#include <algorithm>

#include "schedd/base/limits.h"
#include "schedd/engine/jobs/stand_ins.h"
#include "schedd/lifecycle/job_changes.h"
#include "schedd/model/admission_lifecycle.h"

namespace muster {
namespace {

// The queue's flavors in its order of preference. Such a queue has one resource group (rule A4).
std::vector<std::string> FlavorsOf(const ClusterQueue& queue) {
  std::vector<std::string> flavors;
  for (const ResourceGroup& group : queue.resource_groups) {
    for (const auto& one : group.flavors) flavors.push_back(one.flavor);
  }
  if (flavors.size() > limits::kConcurrentFlavors) flavors.resize(limits::kConcurrentFlavors);
  return flavors;
}

// The number of flavors if the name is not among them.
std::size_t PositionOf(const std::vector<std::string>& flavors, const std::string& name) {
  return static_cast<std::size_t>(std::find(flavors.begin(), flavors.end(), name) -
                                  flavors.begin());
}

// How many of the first flavors a running job may move to: those before its own, and none behind
// lastAcceptableFlavorName. 0 if its own flavor has left the queue, because then nothing says which
// flavors are better.
std::size_t BetterFlavors(const JobRecord& job, const ClusterQueue& queue,
                          const std::vector<std::string>& flavors) {
  const auto& policy = queue.concurrent_admission;
  const auto& own = StateOf(job).allowed_flavors;
  if (!policy || !policy->migrate || !own || own->empty()) return 0;
  std::size_t better = PositionOf(flavors, own->front());
  if (!policy->last_acceptable_flavor.empty())
    better = std::min(better, PositionOf(flavors, policy->last_acceptable_flavor) + 1);
  return better == flavors.size() ? 0 : better;
}

// True for a running job that is not leaving. While it moves to a better flavor (evicted for
// FlavorMigration) its variants stay in the queue.
bool MayMove(const JobRecord& job) {
  if (!IsDispatched(job.state) || !IsTrue(job, "Admitted") || !StateOf(job).active ||
      changes::IsCancelling(job)) {
    return false;
  }
  const Condition* evicted = FindCondition(job, "Evicted");
  return evicted == nullptr || !evicted->status ||
         evicted->reason == ReasonName(Reason::kFlavorMigration);
}

// A record in Pending with the id of the slot, one allowed flavor (nullopt: any) and its gate. Its
// uid differs from the job's in each slot, so that orders by uid tell variants apart. The
// conditions of a job that holds quota are those of its admission and not the variant's.
JobPtr VariantOf(const JobRecord& job, std::size_t slot,
                 std::optional<std::vector<std::string>> flavors, bool gate_open) {
  auto variant = std::make_shared<JobRecord>(job);
  variant->id = StandInId(job.id, slot);
  variant->uid.lo ^= slot * 0x9e3779b97f4a7c15ULL;
  variant->name = job.name + "-variant-" + (flavors ? flavors->front() : "any");
  variant->state = JobState::kPending;
  variant->cluster.clear();
  variant->admission.reset();
  if (HoldsQuota(job.state)) variant->conditions.reset();
  auto state = std::make_shared<AdmissionState>(StateOf(job));
  state->allowed_flavors = std::move(flavors);
  state->preemption_gates = {{kVariantGate, gate_open}};
  variant->admission_state = std::move(state);
  return variant;
}

}  // namespace

bool HasVariants(const ConfigView& config, const AdmissionSettings& settings,
                 const JobRecord& job) {
  if (!settings.concurrent_admission) return false;
  const auto queue = config.cluster_queues.find(job.cluster_queue);
  return queue != config.cluster_queues.end() && queue->second.concurrent_admission.has_value();
}

// The mark is stored, so that a job stays a parent when its queue changes.
void MarkParent(JobRecord* job) {
  ChangeState(
      job, [job](AdmissionState* state) { state->concurrent_parent = job->ns + "/" + job->name; });
}

bool IsParent(const JobRecord& job) { return !StateOf(job).concurrent_parent.empty(); }

// Slots count from 1 in the order of the flavors; slot 0 is the slice of an elastic job.
std::vector<JobPtr> VariantsOf(const JobRecord& job, const ConfigView& config,
                               const std::set<std::size_t>& open_gates) {
  const bool waits = job.state == JobState::kPending && StateOf(job).active &&
                     StateOf(job).admission_gated_by.empty();
  if (!waits && !MayMove(job)) return {};
  const auto queue = config.cluster_queues.find(job.cluster_queue);
  std::vector<JobPtr> variants;
  if (queue == config.cluster_queues.end() || !queue->second.concurrent_admission) {
    // The queue was made again without the policy, or is gone: the job waits as one variant for any
    // flavor, and may preempt.
    if (waits) variants.push_back(VariantOf(job, 1, std::nullopt, true));
    return variants;
  }
  const std::vector<std::string> flavors = FlavorsOf(queue->second);
  const std::size_t count = waits ? flavors.size() : BetterFlavors(job, queue->second, flavors);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t slot = i + 1;
    variants.push_back(
        VariantOf(job, slot, std::vector<std::string>{flavors[i]}, open_gates.contains(slot)));
  }
  return variants;
}

}  // namespace muster
