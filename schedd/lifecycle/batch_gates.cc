#include "schedd/lifecycle/batch_gates.h"

#include <algorithm>

#include "schedd/base/limits_slurm_gates.h"
#include "schedd/base/quantity.h"
#include "schedd/base/saturating.h"
#include "schedd/core/preempt/eviction_pace.h"
#include "schedd/lifecycle/dependencies.h"
#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/eviction_lifecycle.h"

namespace muster::changes {
namespace {

constexpr std::int64_t kBytesPerMegabyte = 1024 * 1024;
constexpr const char* kHeldByUserText = "The job is held; release it to let it be scheduled";

// The sentence for a partition's limit, by its reason.
std::string PartitionText(Reason reason) {
  switch (reason) {
    case Reason::kPartitionTimeLimit:
      return "The job's time limit exceeds its partition's";
    case Reason::kPartitionNodeLimit:
      return "The job asks for more or fewer nodes than its partition allows";
    case Reason::kPartitionMemoryLimit:
      return "The job asks for more memory per CPU than its partition allows";
    case Reason::kPartitionDown:
      return "The job's partition is down: it takes jobs and starts none";
    case Reason::kPartitionInactive:
      return "The job's partition is inactive";
    default:
      return "";
  }
}

// Memory of one CPU as it was asked for, in megabytes; 0: not asked for.
std::int64_t MemoryPerCpu(const BatchDetails& batch) {
  if (batch.mem_per_cpu_mb > 0) return batch.mem_per_cpu_mb;
  if (batch.mem_per_node_mb <= 0) return 0;
  const std::int64_t cpus = std::int64_t{batch.tasks} * batch.cpus_per_task;
  const std::int64_t per_node = std::max<std::int64_t>(1, cpus / std::max(1, batch.nodes));
  return batch.mem_per_node_mb / per_node;
}

// The same of each component beyond the first, which has its request in its pod set alone; the
// largest counts.
std::int64_t ComponentMemoryPerCpu(const JobRecord& job) {
  std::int64_t most = 0;
  if (job.pod_sets == nullptr) return most;
  for (const HetComponent& component : job.batch->components) {
    for (const PodSet& pods : *job.pod_sets) {
      if (pods.name != component.name) continue;
      // As it was asked for: quota may be counted in other resources.
      const ResourceList& asked = pods.node_requests ? *pods.node_requests : pods.requests;
      const std::int64_t memory_mb = AmountOf(asked, "memory") / kBytesPerMegabyte;
      const std::int64_t cpus = std::int64_t{component.tasks} * component.cpus_per_task;
      const std::int64_t per_node = std::max<std::int64_t>(1, cpus / std::max(1, component.nodes));
      most = std::max(most, memory_mb / per_node);
    }
  }
  return most;
}

}  // namespace

GateReason BatchGate(const JobRecord& job) {
  const BatchState& state = BatchStateOf(job);
  if (!state.dependencies.empty()) {
    if (NeverStarts(state))
      return {Reason::kDependencyNeverSatisfied,
              "A job that it depends on did not end as the dependency asks for"};
    return {Reason::kDependency, "It depends on jobs that have not come that far"};
  }
  if (!state.partition_problem.empty()) {
    const Reason reason = ReasonOf(state.partition_problem);
    return {reason, PartitionText(reason)};
  }
  return {};
}

GateReason HoldReason(const JobRecord& job) {
  if (BatchStateOf(job).held_by_admin)
    return {Reason::kHeldByAdmin, "The job is held by an operator, who alone may release it"};
  if (job.reason == Reason::kHeldAfterRequeue || job.reason == Reason::kRequeueLimit)
    return {job.reason, job.message};
  return {Reason::kHeldByUser, kHeldByUserText};
}

GateReason BeginReason(const JobRecord& job) {
  if (job.batch == nullptr || !core::HeldBackUntil(job)) return {};
  const Condition* requeued = FindCondition(job, "Requeued");
  if (requeued == nullptr || requeued->reason == ReasonName(Reason::kBeginTime)) {
    return {Reason::kBeginTime,
            "It is to begin at " + FormatRfc3339(*core::HeldBackUntil(job)) + ", not before"};
  }
  if (requeued->reason == ReasonName(Reason::kRequeued))
    return {Reason::kBeginTime, requeued->message};
  return {};
}

// A job that never held quota has no condition Requeued: then requeueAt alone counts
// (core::HeldBackUntil).
void BeginAt(JobRecord* job, std::optional<WallTime> at, WallTime now) {
  const bool waits = at && *at > now;
  if (!waits && !core::HeldBackUntil(*job)) return;
  ChangeState(job, [&](AdmissionState* state) {
    state->requeue_at = waits ? at : std::optional<WallTime>();
  });
  if (FindCondition(*job, "Requeued") == nullptr) return;
  if (waits) {
    SetCondition(job, "Requeued", false, ReasonName(Reason::kBeginTime),
                 "It is to begin at " + FormatRfc3339(*at) + ", not before", now);
  } else {
    MarkRequeued(job, "BackoffFinished", "The workload backoff was finished", now);
  }
}

std::int32_t DeclaredMachines(const ConfigView& config) {
  std::size_t most = 0;
  for (const auto& [name, member] : config.member_clusters) {
    if (member.nodes.empty()) return 0;
    most = std::max(most, member.nodes.size());
  }
  return static_cast<std::int32_t>(most);
}

std::string PartitionProblem(const JobRecord& job, const PartitionProperties& partition,
                             std::int32_t machines) {
  using State = PartitionProperties::State;
  if (job.batch == nullptr) return "";
  const BatchDetails& batch = *job.batch;
  Reason reason = Reason::kNone;
  if (partition.state == State::kInactive) {
    reason = Reason::kPartitionInactive;
  } else if (partition.state == State::kDown) {
    reason = Reason::kPartitionDown;
  } else if ((partition.max_nodes > 0 && batch.nodes > partition.max_nodes) ||
             (machines > 0 && batch.nodes > machines) ||
             std::max(batch.nodes, batch.max_nodes) < partition.min_nodes) {
    reason = Reason::kPartitionNodeLimit;
  } else if (partition.max_time_s > 0 &&
             (job.time_limit_s == 0 || job.time_limit_s > partition.max_time_s) &&
             (batch.time_min_s == 0 || batch.time_min_s > partition.max_time_s)) {
    reason = Reason::kPartitionTimeLimit;
  } else if (partition.max_mem_per_cpu_mb > 0 &&
             std::max(MemoryPerCpu(batch), ComponentMemoryPerCpu(job)) >
                 partition.max_mem_per_cpu_mb) {
    reason = Reason::kPartitionMemoryLimit;
  }
  return std::string(ReasonName(reason));
}

std::optional<WallTime> LatestStart(const JobRecord& job) {
  const BatchState& state = BatchStateOf(job);
  if (!state.deadline) return std::nullopt;
  const std::int64_t least =
      job.batch != nullptr && job.batch->time_min_s > 0 ? job.batch->time_min_s : job.time_limit_s;
  return WallTime{SaturatingSub(state.deadline->us, least * kMicrosPerSecond)};
}

// The member was told the limit that the job had when its attempt began. A changed limit is among
// the changed fields of its spec, whose keys this program has written.
std::optional<WallTime> ChangedLimitEnd(const JobRecord& job) {
  const BatchState& state = BatchStateOf(job);
  const bool changed = state.changed_spec.find("\"timeLimit\":") != std::string::npos;
  if (!changed || job.time_limit_s <= 0 || !job.start_time.set()) return std::nullopt;
  if (state.suspended_since.set()) return std::nullopt;
  return job.start_time.PlusSeconds(
      SaturatingAdd(job.time_limit_s + limits::kChangedLimitGraceS, state.suspended_s));
}

std::int64_t BatchPriority(const JobRecord& job) {
  const BatchState& state = BatchStateOf(job);
  return SaturatingSub(state.own_priority.value_or(job.priority), state.nice);
}

std::int64_t ShownPriority(const JobRecord& job) {
  if (job.batch == nullptr) return job.priority;
  if (job.suspended_by_user) return 0;
  return std::max<std::int64_t>(1, BatchPriority(job));
}

std::pair<bool, Reason> EndOfStop(const JobRecord& job) {
  switch (job.reason) {
    case Reason::kDeadlineMissed:
    case Reason::kClientGone:
    case Reason::kPreempted:
      return {false, job.reason};
    case Reason::kDeadlineExceeded:
    case Reason::kNodeFailures:
      return {true, job.reason};
    default:
      return {false, Reason::kCancelled};
  }
}

}  // namespace muster::changes
