// Batch scripts: what only they have of a job. BatchDetails is fixed at acceptance; BatchState is
// the part that changes while the job lives. Plain values; docs/rules/slurm-model.md has the model.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schedd/base/ids.h"
#include "schedd/base/time.h"

namespace muster {

/// Indexes of array tasks: first, first + step, ... up to last. 0 <= first <= last, step >= 1.
struct TaskRange {
  std::int32_t first = 0, last = 0, step = 1;
  bool operator==(const TaskRange&) const = default;
};
/// In ascending order and without overlap, so that an array of any size costs a few ranges.
using TaskRanges = std::vector<TaskRange>;

/// --mail-type, as bits of BatchDetails::mail_events.
enum class MailEvent : std::uint32_t {
  kBegin = 1u << 0,
  kEnd = 1u << 1,
  kFail = 1u << 2,
  kRequeue = 1u << 3,
  kInvalidDependency = 1u << 4,
  kTimeLimit = 1u << 5,
  kTimeLimit90 = 1u << 6,
  kTimeLimit80 = 1u << 7,
  kTimeLimit50 = 1u << 8,
  kStageOut = 1u << 9,
  kArrayTasks = 1u << 10,  // each task sends its own mails
};

/// --signal=[R|B:]SIG[@seconds] (rule B30).
struct WarningSignal {
  std::int32_t signal = 0;  // 0: none is sent
  std::int32_t seconds_before = 60;
  bool batch_only = false;  // B: to the batch shell alone; else to the steps alone
  bool reservation = false;  // R
  bool operator==(const WarningSignal&) const = default;
};

/// One component of a heterogeneous job beyond the first (`#SBATCH hetjob`): its pod set is
/// pod_sets[offset], its id the job's id plus the offset.
struct HetComponent {
  std::string name;  // of its pod set
  std::int32_t nodes = 1, tasks = 1, cpus_per_task = 1;
  bool operator==(const HetComponent&) const = default;
};

/// The options of sbatch that a job was submitted with (rules B4, B6). All optional.
struct BatchDetails {
  /// 0: not an array. The record that stands for the waiting tasks has it too.
  JobId array_job_id;
  std::int32_t array_task_id = -1;  // -1: no task of an array, or the record of its waiting tasks
  std::string array_spec;           // "0-15:4%2" as given
  std::string work_dir, command, std_in, std_out, std_err, comment;
  /// Nodes that the job gets: one pod each. `max_nodes` is what -N allowed.
  std::int32_t nodes = 1, max_nodes = 1, tasks = 1, cpus_per_task = 1;
  std::int32_t tasks_per_node = 0;  // 0: not given
  std::int64_t mem_per_node_mb = 0;
  std::int64_t mem_per_cpu_mb = 0;  // 0: --mem-per-cpu was not given
  /// "gpu:2", "gpu:a100:2", per node.
  std::string gres;
  /// False: there is one attempt only, and an eviction ends the job.
  bool requeue = true;
  /// --constraint, --nodelist, --exclude, --licenses, --reservation as given.
  std::string features, required_nodes, excluded_nodes, licenses, reservation;
  std::string wckey, mail_user, submit_line;
  /// `-p a,b` as given, "a,b": LocalQueues of its namespace, of which the first that can start it
  /// does (rule B29). "": only its own.
  std::string partitions;
  std::uint32_t mail_events = 0;
  WarningSignal warning;
  std::int64_t time_min_s = 0;  // --time-min
  bool exclusive = false;
  /// No script: salloc, or srun outside a job. The job runs until its client gives it back.
  bool allocation_only = false;
  std::vector<HetComponent> components;
  /// Options that say how a job runs and change no amount (--hint, --distribution, --gpu-bind ...),
  /// by their long names, in the order given; shown by `scontrol show job`.
  std::vector<std::pair<std::string, std::string>> how;
};

/// --dependency (rule B31). Values are stored: never renumber.
enum class DependencyType : std::uint8_t {
  kAfter = 1,
  kAfterAny = 2,
  kAfterOk = 3,
  kAfterNotOk = 4,
  kAfterCorr = 5,
  kSingleton = 6,
  kAfterBurstBuffer = 7,
};
struct Dependency {
  DependencyType type = DependencyType::kAfterAny;
  JobId job;                // 0 for a singleton
  std::int32_t task = -1;   // of an array; -1: the job, or all tasks
  std::int32_t minutes = 0;  // kAfter: after the parent's start
  /// It can never be met. Met ones are removed from the list.
  bool failed = false;
  bool operator==(const Dependency&) const = default;
};

/// What has become of a batch script beside its admission.
struct BatchState {
  std::vector<Dependency> dependencies;  // that are not met yet
  bool any_dependency = false;           // one of them is enough ("?")
  bool kill_on_invalid_dependency = false;
  std::optional<WallTime> begin_at;  // --begin
  std::optional<WallTime> deadline;  // --deadline
  bool held_by_admin = false;        // only an operator releases it
  bool special_exit = false;         // requeuehold State=SpecialExit
  std::int64_t nice = 0;
  /// --priority or `scontrol update Priority=`; unset: the QOS's.
  std::optional<std::int64_t> own_priority;
  /// Set while it is suspended (`scontrol suspend`), and how long it was before.
  WallTime suspended_since;
  std::int64_t suspended_s = 0;
  /// Of the record that stands for an array's waiting tasks.
  TaskRanges waiting_tasks;
  std::int32_t task_throttle = 0;  // %N; 0: none
  /// Fields of the manifest's spec that were changed after submission, as JSON text; "": none.
  std::string changed_spec;
  /// The sentence of Slurm's reason why the partition's limits keep it waiting; "": they do not.
  std::string partition_problem;
  /// While it is set, the allocation ends at this time unless its client says that it lives.
  WallTime client_until;
  bool operator==(const BatchState&) const = default;
};
using BatchStatePtr = std::shared_ptr<const BatchState>;

}  // namespace muster
