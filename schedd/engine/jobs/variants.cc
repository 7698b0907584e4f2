// Concurrent admission (KEP-8691, rule A57): a job of a ClusterQueue with this policy is a
// parent; each flavor is tried by a variant of it. The first that is admitted is the job's
// admission; better ones go on trying if the policy migrates, and then take its place. Whether a
// variant may preempt is a gate, opened for one after the other.
#include "schedd/engine/jobs/variants.h"

#include <algorithm>

#include "schedd/base/limits.h"
#include "schedd/engine/jobs/stand_ins.h"
#include "schedd/lifecycle/job_changes.h"

namespace muster {
namespace {

// The queue's flavors in its order of preference; it has one group (rule A4).
std::vector<std::string> FlavorsOf(const ClusterQueue& queue) {
  std::vector<std::string> flavors;
  for (const ResourceGroup& group : queue.resource_groups) {
    for (const auto& one : group.flavors) flavors.push_back(one.flavor);
  }
  if (flavors.size() > limits::kConcurrentFlavors) flavors.resize(limits::kConcurrentFlavors);
  return flavors;
}

std::size_t PositionOf(const std::vector<std::string>& flavors, const std::string& name) {
  return static_cast<std::size_t>(std::find(flavors.begin(), flavors.end(), name) -
                                  flavors.begin());
}

// How many of the first flavors are worth moving to from the one that it has.
std::size_t BetterFlavors(const JobRecord& job, const ClusterQueue& queue,
                          const std::vector<std::string>& flavors) {
  const auto& policy = queue.concurrent_admission;
  const auto& own = StateOf(job).allowed_flavors;
  if (!policy || !policy->migrate || !own || own->empty()) return 0;
  std::size_t better = PositionOf(flavors, own->front());
  if (!policy->last_acceptable_flavor.empty())
    better = std::min(better, PositionOf(flavors, policy->last_acceptable_flavor) + 1);
  return better == flavors.size() ? 0 : better;  // its own flavor has left the queue
}

// While it moves to a better flavor the variants that wanted it go on wanting.
bool MayMove(const JobRecord& job) {
  if (!IsDispatched(job.state) || !IsTrue(job, "Admitted") || !StateOf(job).active ||
      changes::IsCancelling(job)) {
    return false;
  }
  const Condition* evicted = FindCondition(job, "Evicted");
  return evicted == nullptr || !evicted->status ||
         evicted->reason == ReasonName(Reason::kFlavorMigration);
}

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

void MarkParent(JobRecord* job) {
  ChangeState(
      job, [job](AdmissionState* state) { state->concurrent_parent = job->ns + "/" + job->name; });
}

bool IsParent(const JobRecord& job) { return !StateOf(job).concurrent_parent.empty(); }

std::vector<JobPtr> VariantsOf(const JobRecord& job, const ConfigView& config,
                               const std::set<std::size_t>& open_gates) {
  const bool waits = job.state == JobState::kPending && StateOf(job).active &&
                     StateOf(job).admission_gated_by.empty();
  if (!waits && !MayMove(job)) return {};
  const auto queue = config.cluster_queues.find(job.cluster_queue);
  std::vector<JobPtr> variants;
  if (queue == config.cluster_queues.end() || !queue->second.concurrent_admission) {
    // Made anew without the policy, or gone: it waits as one, for any flavor.
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
