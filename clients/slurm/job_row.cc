// The vocabularies of Slurm: names of states, words for reasons, and exits as "code:signal". The
// tables map Muster's closed sets (JobState and Reason of schedd/model) to Slurm's; rules B18 to
// B20 give the choice for each.
#include "clients/slurm/job_row.h"

#include <iterator>

#include "clients/slurm/same_word.h"

namespace muster::slurm {
namespace {

// A state's name in column ST and in column STATE.
struct StateNames {
  const char* compact;
  const char* full;
};

// Indexed by State.
constexpr StateNames kNames[] = {
    {"PD", "PENDING"},    {"R", "RUNNING"},       {"S", "SUSPENDED"},     {"CD", "COMPLETED"},
    {"CA", "CANCELLED"},  {"F", "FAILED"},        {"TO", "TIMEOUT"},      {"NF", "NODE_FAIL"},
    {"PR", "PREEMPTED"},  {"BF", "BOOT_FAIL"},    {"DL", "DEADLINE"},     {"OOM", "OUT_OF_MEMORY"},
    {"RQ", "REQUEUED"},   {"RH", "REQUEUE_HOLD"}, {"SE", "SPECIAL_EXIT"}, {"CF", "CONFIGURING"},
    {"CG", "COMPLETING"},
};

// Slurm's other states. Filters accept them and match no job.
constexpr StateNames kNeverSeen[] = {
    {"ST", "STOPPED"},     {"RV", "REVOKED"},   {"RS", "RESIZING"},  {"RD", "RESV_DEL_HOLD"},
    {"RF", "REQUEUE_FED"}, {"SI", "SIGNALING"}, {"SO", "STAGE_OUT"},
};

// A reason of Muster and Slurm's word for it.
struct ReasonWord {
  std::string_view ours;
  std::string_view slurm;
};

// The reasons of schedd/model/reason.h and their words of rule B20. Of the reasons of quota,
// Resources means that the job would run if others ended, and AccountingPolicy that it asks for
// more than its quota can ever give.
constexpr ReasonWord kReasons[] = {
    {"PendingEvaluation", "Priority"},
    {"WaitingForQuota", "Resources"},
    {"WaitingForCapacity", "Resources"},
    {"ExceedsMaxQuota", "AccountingPolicy"},
    {"NoMatchingFlavor", "BadConstraints"},
    {"NoMemberCluster", "BadConstraints"},
    {"Misconfigured", "PartitionConfig"},
    {"ClusterQueueStopped", "PartitionDown"},
    {"LocalQueueStopped", "PartitionInactive"},
    {"HeldByUser", "JobHeldUser"},
    {"Suspended", "JobHeldUser"},
    {"Backoff", "BeginTime"},
    {"Requeued", "BeginTime"},
    {"QuotaReserved", "None"},
    {"Admitted", "None"},
    {"Dispatching", "None"},
    {"Starting", "None"},
    {"Running", "None"},
    {"Succeeded", "None"},
    {"Cancelled", "None"},
    {"Failed", "NonZeroExitCode"},
    {"BackoffLimitExceeded", "NonZeroExitCode"},
    {"PodFailurePolicy", "NonZeroExitCode"},
    {"DeadlineExceeded", "TimeLimit"},
    {"OutOfMemory", "OutOfMemory"},
    {"FailedToStart", "JobLaunchFailure"},
    {"Lost", "NodeDown"},
    {"NodeFailures", "NodeDown"},
    {"EvictedOnMember", "SystemFailure"},
    {"ClusterDrained", "ReqNodeNotAvail"},
    {"ClusterTainted", "ReqNodeNotAvail"},
    {"PlacementEviction", "BeginTime"},
    {"Rebalanced", "BeginTime"},
    {"Dependency", "Dependency"},
    {"DependencyNeverSatisfied", "DependencyNeverSatisfied"},
    {"BeginTime", "BeginTime"},
    {"HeldByAdmin", "JobHeldAdmin"},
    {"ArrayTaskLimit", "JobArrayTaskLimit"},
    {"PartitionTimeLimit", "PartitionTimeLimit"},
    {"PartitionNodeLimit", "PartitionNodeLimit"},
    {"PartitionMemoryLimit", "PartitionConfig"},
    {"PartitionDown", "PartitionDown"},
    {"PartitionInactive", "PartitionInactive"},
    {"HeldAfterRequeue", "JobHeldUser"},
    {"RequeueLimit", "JobHoldMaxRequeue"},
    {"DeadlineMissed", "DeadLine"},
    {"ClientGone", "None"},
    {"SuspendedByAdmin", "None"},
    {"MaximumExecutionTimeExceeded", "TimeLimit"},
};

}  // namespace

std::string_view CompactName(State state) {
  return kNames[static_cast<std::size_t>(state)].compact;
}
std::string_view LongName(State state) { return kNames[static_cast<std::size_t>(state)].full; }

bool ParseState(std::string_view text, State* out) {
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (SameWord(text, kNames[i].compact) || SameWord(text, kNames[i].full)) {
      return *out = static_cast<State>(i), true;
    }
  }
  return false;
}

bool IsSlurmState(std::string_view text) {
  State ignored = State::kPending;
  if (ParseState(text, &ignored)) return true;
  for (const StateNames& names : kNeverSeen) {
    if (SameWord(text, names.compact) || SameWord(text, names.full)) return true;
  }
  return false;
}

State StateOf(const StateMembers& members) {
  const std::string_view name = members.state, reason = members.reason;
  // Out of memory wins over the script's exit code (rule B19).
  if (reason == "OutOfMemory" && (name == "Succeeded" || name == "Failed"))
    return State::kOutOfMemory;
  if (name == "Held" && reason == "HeldAfterRequeue" && members.special_exit)
    return State::kSpecialExit;
  if (name == "Pending" || name == "Held") return State::kPending;
  if (name == "Admitted" || name == "Running") {
    if (members.stopping) return State::kCompleting;
    if (name == "Admitted") return State::kConfiguring;
    return members.suspended ? State::kSuspended : State::kRunning;
  }
  if (name == "Succeeded") return State::kCompleted;
  if (reason == "Preempted") return State::kPreempted;
  if (name == "Cancelled") return reason == "DeadlineMissed" ? State::kDeadline : State::kCancelled;
  if (reason == "DeadlineExceeded" || reason == "MaximumExecutionTimeExceeded")
    return State::kTimeout;
  if (reason == "Lost" || reason == "NodeFailures" || reason == "EvictedOnMember")
    return State::kNodeFail;
  return reason == "FailedToStart" ? State::kBootFail : State::kFailed;
}

std::int64_t ShownPriority(const JobRow& row) {
  if (row.held || row.extra->hold_at_requeue) return 0;
  return row.priority > 1 ? row.priority : 1;
}

namespace {

bool EndedFromOutside(State state) {
  return state == State::kCancelled || state == State::kTimeout || state == State::kPreempted ||
         state == State::kNodeFail || state == State::kDeadline || state == State::kRequeued;
}

}  // namespace

// Slurm reports an end by the out-of-memory killer as signal 125.
SlurmExit ScriptExitOf(const JobRow& row) {
  constexpr std::int32_t kOutOfMemorySignal = 125, kTerminated = 15;
  if (row.state == State::kOutOfMemory) return {0, kOutOfMemorySignal};
  if (row.exit_signal != 0) return {0, row.exit_signal};
  if (row.has_exit_code) return {row.exit_code, 0};
  return {0, EndedFromOutside(row.state) ? kTerminated : 0};
}

SlurmExit ExitOf(const JobRow& row) {
  return EndedFromOutside(row.state) ? SlurmExit{} : ScriptExitOf(row);
}

std::string ExitText(const JobRow& row) {
  const SlurmExit exit = ExitOf(row);
  return std::to_string(exit.code) + ":" + std::to_string(exit.signal);
}

// A reason that has no word reads as Priority for a waiting job, which is Slurm's most general
// word.
std::string_view SlurmReason(const JobRow& row) {
  if (row.held && row.reason == "RequeueLimit") return "JobHoldMaxRequeue";
  if (row.held && row.reason == "HeldAfterRequeue" && !row.extra->special_exit)
    return "job_requeued_in_held_state";
  if (row.held || row.extra->hold_at_requeue)
    return row.extra->held_by_admin || row.reason == "HeldByAdmin" ? "JobHeldAdmin" : "JobHeldUser";
  if (row.state == State::kTimeout) return "TimeLimit";
  if (row.state == State::kOutOfMemory) return "OutOfMemory";
  // Slurm's mark of a script that could not start, which the members set.
  constexpr std::int32_t kScriptNotStarted = 53;
  if (row.state == State::kFailed && row.exit_signal == kScriptNotStarted)
    return "JobLaunchFailure";
  for (const ReasonWord& word : kReasons) {
    if (word.ours == row.reason) return word.slurm;
  }
  return IsPending(row.state) ? "Priority" : "None";
}

}  // namespace muster::slurm
