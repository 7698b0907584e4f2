// JobRow: the parts of a job that the Slurm-named commands show. Its texts point into the arena of
// the JobList, so that a row costs no allocation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace muster::slurm {

/// The states of Slurm that Muster's states map to, in the order in which squeue sorts them
/// (rule B18).
enum class State : std::uint8_t {
  kPending,
  kRunning,
  kCompleted,
  kCancelled,
  kFailed,
  kTimeout,
  kOutOfMemory,
  kConfiguring,
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
inline bool IsOver(State state) {
  return state >= State::kCompleted && state <= State::kOutOfMemory;
}

struct JobRow {
  std::int64_t id = 0, array_job_id = 0;
  std::int32_t array_task_id = -1;
  State state = State::kPending;
  bool held = false, has_exit_code = false, is_batch = false, requeue = true;
  std::int32_t exit_code = 0, exit_signal = 0, priority = 0, attempt = 0;
  std::int32_t nodes = 0, tasks = 0, cpus_per_task = 0, pods = 0;
  std::int64_t cpu_milli = 0, memory_bytes = 0, gpus = 0;  // summed over all pods
  std::int64_t memory_per_node_mb = 0;                     // as a script asked for it
  std::int64_t time_limit_s = 0;                           // 0: none
  std::string_view name, ns, kind, user, queue, cluster_queue, priority_class, reason, message,
      cluster;
  std::string_view submit_time, admit_time, start_time, end_time;  // RFC 3339, empty if not yet
  std::string_view requeue_at;  // the end of its wait after a requeue; empty if it has none
  std::string_view array_spec, work_dir, command, std_out, std_err, comment, gres;
};

/// The number of nodes that squeue shows: a script's --nodes, or one for each pod.
inline std::int32_t NodeCount(const JobRow& row) { return row.is_batch ? row.nodes : row.pods; }
/// The time from which the job may start: its submission, or the end of its wait after a requeue.
inline std::string_view EligibleTime(const JobRow& row) {
  return row.requeue_at.empty() ? row.submit_time : row.requeue_at;
}
/// The start time as Slurm shows it: for a job that waits for a time, that time.
inline std::string_view StartTime(const JobRow& row) {
  return row.start_time.empty() ? row.requeue_at : row.start_time;
}
/// The job's CPUs, rounded up, at least one.
inline std::int64_t CpuCount(const JobRow& row) {
  const std::int64_t cpus = (row.cpu_milli + 999) / 1000;
  return cpus > 0 ? cpus : 1;
}

/// A job's exit as Slurm reports it: a code or a signal (rule B19). A status that stands for a
/// signal (128 + n) is reported as the signal alone; out of memory is 0:125, whatever the job
/// returned.
struct SlurmExit {
  std::int32_t code = 0, signal = 0;
};
SlurmExit ExitOf(const JobRow& row);
/// "code:signal".
std::string ExitText(const JobRow& row);

/// Slurm's word for the reason of a job's state: one CamelCase word, never empty (rule B20).
std::string_view SlurmReason(const JobRow& row);

}  // namespace muster::slurm
