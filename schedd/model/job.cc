// Names of states and shapes, and the two values by which jobs are ordered: effective priority and
// queue time.
#include "schedd/model/job.h"

#include <array>
#include <utility>

#include "schedd/base/quantity.h"

namespace muster {
namespace {

// Pending stands before Reserved, so that JobStateOf("Pending") finds kPending.
constexpr std::array<std::pair<JobState, std::string_view>, 8> kStates = {{
    {JobState::kHeld, "Held"},
    {JobState::kPending, "Pending"},
    {JobState::kAdmitted, "Admitted"},
    {JobState::kRunning, "Running"},
    {JobState::kSucceeded, "Succeeded"},
    {JobState::kFailed, "Failed"},
    {JobState::kCancelled, "Cancelled"},
    {JobState::kReserved, "Pending"},
}};

// What the names of several hosts begin with: those of the pods of an Indexed Job, or of the first
// Job of a JobSet.
std::string HostStem(const JobRecord& job) {
  return job.name + (job.batch->components.empty() ? "-" : "-main-0-");
}

}  // namespace

const Condition* FindCondition(const JobRecord& job, std::string_view type) {
  if (job.conditions == nullptr) return nullptr;
  for (const Condition& condition : *job.conditions) {
    if (condition.type == type) return &condition;
  }
  return nullptr;
}

bool IsTrue(const JobRecord& job, std::string_view type) {
  const Condition* condition = FindCondition(job, type);
  return condition != nullptr && condition->status;
}

std::int64_t EffectivePriority(const JobRecord& job, const AdmissionSettings& settings) {
  std::int64_t priority = job.priority;
  if (job.batch_state != nullptr) {
    priority =
        SaturatingSub(job.batch_state->own_priority.value_or(priority), job.batch_state->nice);
  }
  return settings.priority_boost ? SaturatingAdd(priority, job.priority_boost) : priority;
}

// The time of submission, unless an eviction moved the job behind: one because its pods were not
// ready or for an admission check counts from the eviction. With the gate
// PrioritySortingWithinCohort off, a job that was preempted to reclaim borrowed quota stands a
// millisecond behind its preemption, as in Kueue.
WallTime QueueTime(const JobRecord& job, const AdmissionSettings& settings) {
  if (job.conditions == nullptr) return job.submit_time;
  if (const Condition* evicted = FindCondition(job, "Evicted"); evicted && evicted->status) {
    const bool by_eviction = settings.pods_ready.requeue_by_eviction_time &&
                             evicted->reason == ReasonName(Reason::kPodsReadyTimeout);
    if (by_eviction || evicted->reason == ReasonName(Reason::kAdmissionCheck)) {
      return evicted->last_transition;
    }
  }
  if (!settings.priority_sorting_within_cohort) {
    const Condition* preempted = FindCondition(job, "Preempted");
    if (preempted != nullptr && preempted->status &&
        preempted->reason == ReasonName(Reason::kInCohortReclaimWhileBorrowing)) {
      return {preempted->last_transition.us + 1000};
    }
  }
  return job.submit_time;
}

bool MayRequeue(const JobRecord& job) { return job.batch == nullptr || job.batch->requeue; }

const BatchState& BatchStateOf(const JobRecord& job) {
  static const BatchState kDefaults;
  return job.batch_state == nullptr ? kDefaults : *job.batch_state;
}

bool IsArrayRecord(const JobRecord& job) {
  return job.batch != nullptr && !job.batch->array_spec.empty() && job.batch->array_task_id < 0;
}

std::vector<std::string> HostsOf(const JobRecord& job) {
  if (job.cluster.empty()) return {};
  const std::int32_t nodes = job.batch == nullptr ? 1 : job.batch->nodes;
  if (nodes <= 1) return {job.cluster};
  std::vector<std::string> hosts;
  for (std::int32_t i = 0; i < nodes; ++i) hosts.push_back(HostStem(job) + std::to_string(i));
  return hosts;
}

std::string NodeListOf(const JobRecord& job) {
  if (job.cluster.empty()) return "";
  const std::int32_t nodes = job.batch == nullptr ? 1 : job.batch->nodes;
  if (nodes <= 1) return job.cluster;
  return HostStem(job) + "[0-" + std::to_string(nodes - 1) + "]";
}

std::string_view JobStateName(JobState state) {
  for (const auto& [value, name] : kStates) {
    if (value == state) return name;
  }
  return "";
}

std::optional<JobState> JobStateOf(std::string_view name) {
  for (const auto& [value, text] : kStates) {
    if (text == name) return value;
  }
  return std::nullopt;
}

}  // namespace muster
