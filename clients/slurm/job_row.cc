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
    {"PD", "PENDING"}, {"R", "RUNNING"},  {"CD", "COMPLETED"},      {"CA", "CANCELLED"},
    {"F", "FAILED"},   {"TO", "TIMEOUT"}, {"OOM", "OUT_OF_MEMORY"}, {"CF", "CONFIGURING"},
};

// Slurm's other states. Filters accept them and match no job.
constexpr StateNames kNeverSeen[] = {
    {"CG", "COMPLETING"},    {"NF", "NODE_FAIL"},   {"PR", "PREEMPTED"}, {"BF", "BOOT_FAIL"},
    {"DL", "DEADLINE"},      {"S", "SUSPENDED"},    {"RQ", "REQUEUED"},  {"RH", "REQUEUE_HOLD"},
    {"SE", "SPECIAL_EXIT"},  {"ST", "STOPPED"},     {"RV", "REVOKED"},   {"RS", "RESIZING"},
    {"RD", "RESV_DEL_HOLD"}, {"RF", "REQUEUE_FED"}, {"SI", "SIGNALING"}, {"SO", "STAGE_OUT"},
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

// Slurm reports an end by the out-of-memory killer as signal 125.
SlurmExit ExitOf(const JobRow& row) {
  constexpr std::int32_t kOutOfMemorySignal = 125;
  if (row.state == State::kOutOfMemory) return {0, kOutOfMemorySignal};
  if (row.exit_signal != 0) return {0, row.exit_signal};
  return {row.has_exit_code ? row.exit_code : 0, 0};
}

std::string ExitText(const JobRow& row) {
  const SlurmExit exit = ExitOf(row);
  return std::to_string(exit.code) + ":" + std::to_string(exit.signal);
}

// A reason that has no word reads as Priority for a waiting job, which is Slurm's most general
// word.
std::string_view SlurmReason(const JobRow& row) {
  if (row.held) return "JobHeldUser";
  if (row.state == State::kTimeout) return "TimeLimit";
  if (row.state == State::kOutOfMemory) return "OutOfMemory";
  for (const ReasonWord& word : kReasons) {
    if (word.ours == row.reason) return word.slurm;
  }
  return row.state == State::kPending ? "Priority" : "None";
}

}  // namespace muster::slurm
