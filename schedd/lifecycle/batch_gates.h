// What keeps a batch script from being tried beside its queue (rules B29, B31, B32): dependencies,
// the time of --begin, limits of its partition, holds; and the times by which it must start or end.
// Pure.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "schedd/model/config.h"
#include "schedd/model/job.h"
#include "schedd/model/queues.h"

namespace muster::changes {

/// Replaces the batch state by a changed copy; null again if all of it has its default.
template <class Change>
void ChangeBatch(JobRecord* job, const Change& change) {
  auto state = std::make_shared<BatchState>(BatchStateOf(*job));
  change(state.get());
  if (*state == BatchState{}) {
    job->batch_state = nullptr;
  } else {
    job->batch_state = std::move(state);
  }
}

struct GateReason {
  Reason reason = Reason::kNone;
  std::string message;
};
/// Why a job that is not held may not enter its queue; kNone if it may. The time of --begin is not
/// among it: it holds a job back in its queue (BeginAt).
GateReason BatchGate(const JobRecord& job);
/// The same question without the sentence.
inline bool BatchGateOpen(const JobRecord& job) {
  return job.batch_state == nullptr ||
         (job.batch_state->dependencies.empty() && job.batch_state->partition_problem.empty());
}
/// Why a held job is held, by its fields and by the reason that it has.
GateReason HoldReason(const JobRecord& job);
/// Why a job is held back until a time: kBeginTime if it is --begin or a requeue that somebody
/// asked for, else kNone.
GateReason BeginReason(const JobRecord& job);

/// A waiting job is not tried before `at`; unset: it may be tried at once.
void BeginAt(JobRecord* job, std::optional<WallTime> at, WallTime now);

/// The most machines that a member has, if every member declares its machines (annotation
/// muster.io/nodes); 0: some member does not, and a node of a job is a pod wherever it is.
std::int32_t DeclaredMachines(const ConfigView& config);
/// The reason that BatchState::partition_problem names for a job in this partition:
/// "PartitionTimeLimit" and its kin; "": none. `machines`: DeclaredMachines.
std::string PartitionProblem(const JobRecord& job, const PartitionProperties& partition,
                             std::int32_t machines = 0);

/// The last time at which a waiting job may start so that it ends by its deadline; nullopt: none.
std::optional<WallTime> LatestStart(const JobRecord& job);

/// When a running script whose time limit was changed after its start has run as long as it may;
/// nullopt if its member knows the limit.
std::optional<WallTime> ChangedLimitEnd(const JobRecord& job);

/// The priority that orders a batch script: its own one, or its class's, less its nice value.
std::int64_t BatchPriority(const JobRecord& job);
/// As users see it: 0 while it is held, else at least 1. Of other jobs the class's value.
std::int64_t ShownPriority(const JobRecord& job);

/// How an attempt that was stopped for good ends its job: whether it has failed (else it is
/// cancelled), and the reason by which Slurm's state follows (docs/rules/slurm-model.md).
std::pair<bool, Reason> EndOfStop(const JobRecord& job);

}  // namespace muster::changes
