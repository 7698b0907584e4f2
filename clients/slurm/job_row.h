// JobRow: the parts of a job that the Slurm-named commands show. Its texts point into the arena of
// the JobList, so that a row costs no allocation. What few jobs have is in JobExtra, which all
// other rows share as one empty value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::slurm {

/// The states of Slurm that Muster's states map to, in the order in which squeue sorts them
/// (rule B18).
enum class State : std::uint8_t {
  kPending,
  kRunning,
  kSuspended,
  kCompleted,
  kCancelled,
  kFailed,
  kTimeout,
  kNodeFail,
  kPreempted,
  kBootFail,
  kDeadline,
  kOutOfMemory,
  kRequeued,  // only earlier attempts, in `sacct -D`
  kRequeueHold,
  kSpecialExit,
  kConfiguring,
  kCompleting,
};

/// "PD".
std::string_view CompactName(State state);
/// "PENDING".
std::string_view LongName(State state);
/// Parses either name in any case; false if unknown or a Slurm state that Muster's jobs never have.
bool ParseState(std::string_view text, State* out);
/// True for every state name of Slurm, also for states that Muster's jobs never have.
bool IsSlurmState(std::string_view text);
/// True if the job has ended.
inline bool IsOver(State state) { return state >= State::kCompleted && state <= State::kRequeued; }
/// True if the job waits, held or not.
inline bool IsPending(State state) {
  return state == State::kPending || state == State::kRequeueHold || state == State::kSpecialExit;
}
/// True if the job has its nodes.
inline bool HasNodes(State state) {
  return state == State::kRunning || state == State::kSuspended || state == State::kConfiguring ||
         state == State::kCompleting;
}

/// One component of a heterogeneous job beyond the first.
struct HetPart {
  std::int32_t nodes = 1, tasks = 1, cpus_per_task = 1;
};
/// The amounts of one pod set, for all its pods.
struct PodAmounts {
  std::int32_t pods = 0;
  std::int64_t cpu_milli = 0, memory_bytes = 0, gpus = 0;
};

/// What few jobs have. Empty texts and zeros mean none.
struct JobExtra {
  std::string_view features, required_nodes, excluded_nodes, licenses, reservation, wckey,
      mail_user, dependency, begin, deadline, suspended_since, waiting_tasks, partition_problem,
      partitions;
  std::int64_t mail_events = 0, time_min_s = 0, nice = 0, suspended_s = 0, task_throttle = 0,
               tasks_per_node = 0, memory_per_cpu_mb = 0;
  bool exclusive = false, allocation_only = false, held_by_admin = false, special_exit = false;
  /// Held while it runs.
  bool hold_at_requeue = false;
  std::vector<std::pair<std::string_view, std::string_view>> how;  // long option, value
  std::vector<HetPart> components;
  std::vector<PodAmounts> pod_sets;  // only with components
};
inline const JobExtra kNoExtra;

struct JobRow {
  std::int64_t id = 0, array_job_id = 0;
  std::int32_t array_task_id = -1;  // -1 with an array_job_id: the record of its waiting tasks
  std::int32_t het_offset = -1;     // of a row that stands for one component
  State state = State::kPending;
  bool held = false, has_exit_code = false, is_batch = false, requeue = true, stopping = false;
  std::int32_t exit_code = 0, exit_signal = 0, attempt = 0, requeues = -1;
  std::int64_t priority = 0;
  std::int32_t nodes = 0, max_nodes = 0, tasks = 0, cpus_per_task = 0, pods = 0;
  std::int64_t cpu_milli = 0, memory_bytes = 0, gpus = 0;  // summed over all pods
  std::int64_t memory_per_node_mb = 0;                     // as a script asked for it
  std::int64_t time_limit_s = 0;                           // 0: none
  std::string_view name, ns, kind, user, queue, cluster_queue, priority_class, reason, message,
      cluster, node_list;
  std::string_view submit_time, admit_time, start_time, end_time;  // RFC 3339, empty if not yet
  std::string_view estimated_start;  // of a waiting job, only where it was asked for
  std::string_view requeue_at;       // the end of its wait after a requeue; empty if it has none
  std::string_view array_spec, work_dir, command, std_in, std_out, std_err, comment, gres,
      submit_line;
  const JobExtra* extra = &kNoExtra;
};

/// Slurm's state from Muster's state and reason. `stopping`, `suspended` and `special_exit` are the
/// members of the job view of these names. Messages never decide: they are for people.
struct StateMembers {
  std::string_view state, reason;
  bool stopping = false, suspended = false, special_exit = false;
};
State StateOf(const StateMembers& members);

/// True for the one record that stands for the waiting tasks of an array.
inline bool IsArrayRecord(const JobRow& row) {
  return row.array_job_id != 0 && row.array_task_id < 0;
}
/// The number of nodes that squeue shows: a script's --nodes, or one for each pod.
inline std::int32_t NodeCount(const JobRow& row) { return row.is_batch ? row.nodes : row.pods; }
/// The time from which the job may start: its --begin, the end of its wait after a requeue, or its
/// submission.
inline std::string_view EligibleTime(const JobRow& row) {
  if (!row.extra->begin.empty()) return row.extra->begin;
  return row.requeue_at.empty() ? row.submit_time : row.requeue_at;
}
/// The start time as Slurm shows it: for a job that waits for a time, that time.
inline std::string_view StartTime(const JobRow& row) {
  if (!row.start_time.empty()) return row.start_time;
  if (!row.extra->begin.empty() && IsPending(row.state)) return row.extra->begin;
  return row.requeue_at.empty() ? row.estimated_start : row.requeue_at;
}
/// The job's CPUs, rounded up, at least one.
inline std::int64_t CpuCount(const JobRow& row) {
  const std::int64_t cpus = (row.cpu_milli + 999) / 1000;
  return cpus > 0 ? cpus : 1;
}
/// How often it was started anew.
inline std::int32_t Restarts(const JobRow& row) {
  if (row.requeues >= 0) return row.requeues;
  return row.attempt > 1 ? row.attempt - 1 : 0;
}
/// The priority as shown: 0 for a held job, at least 1 for any other.
std::int64_t ShownPriority(const JobRow& row);
/// The QOS: "normal" for a job without one.
inline std::string_view QosOf(const JobRow& row) {
  return row.priority_class.empty() ? std::string_view("normal") : row.priority_class;
}
/// The hosts of a job that has them or had them: as the server lists them, else the member cluster.
inline std::string_view HostsOf(const JobRow& row) {
  return row.node_list.empty() ? row.cluster : row.node_list;
}

/// A job's exit as Slurm reports it: a code or a signal (rule B19). A status that stands for a
/// signal (128 + n) is reported as the signal alone; out of memory is 0:125, whatever the job
/// returned.
struct SlurmExit {
  std::int32_t code = 0, signal = 0;
};
/// A job that was ended from outside (cancelled, over its time, preempted, with a lost node) is
/// 0:0.
SlurmExit ExitOf(const JobRow& row);
/// The exit of the job's script itself, as its batch step shows it: 0:15 if it was ended from
/// outside.
SlurmExit ScriptExitOf(const JobRow& row);
/// "code:signal".
std::string ExitText(const JobRow& row);

/// Slurm's word for the reason of a job's state: one CamelCase word, never empty (rule B20).
std::string_view SlurmReason(const JobRow& row);

}  // namespace muster::slurm
