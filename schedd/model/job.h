// Job: what a user submitted, and its current state. JobRecord is immutable once published: a
// change makes a new record, so readers share records with the engine without a lock.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schedd/base/ids.h"
#include "schedd/base/time.h"
#include "schedd/model/admission_settings.h"
#include "schedd/model/admission_state.h"
#include "schedd/model/batch.h"
#include "schedd/model/placement.h"
#include "schedd/model/reason.h"
#include "schedd/model/shape_kind.h"
#include "schedd/model/step.h"
#include "schedd/model/workload.h"

namespace muster {

/// The user-visible states (rule C1). Values are stored: never renumber.
enum class JobState : std::uint8_t {
  kHeld = 1,
  kPending = 2,
  kAdmitted = 3,  // quota is reserved and a member chosen; being dispatched or starting
  kRunning = 4,
  kSucceeded = 5,
  kFailed = 6,
  kCancelled = 7,
  kReserved = 8,  // quota reserved; its admission checks are not all ready; users see "Pending"
};

/// The name that users see. kReserved reads "Pending" too; the inverse of "Pending" is kPending.
std::string_view JobStateName(JobState state);
std::optional<JobState> JobStateOf(std::string_view name);
inline bool IsTerminal(JobState state) {
  return state >= JobState::kSucceeded && state <= JobState::kCancelled;
}
/// True while the job has an attempt on a member.
inline bool IsDispatched(JobState state) {
  return state == JobState::kAdmitted || state == JobState::kRunning;
}
/// True while the job holds quota.
inline bool HoldsQuota(JobState state) {
  return IsDispatched(state) || state == JobState::kReserved;
}

/// metav1.Condition.
struct Condition {
  std::string type, reason, message;
  bool status = false;
  WallTime last_transition;
  bool operator==(const Condition&) const = default;
};

struct JobRecord;
/// spec.priority, plus the boost where the gate PriorityBoost lets it count (rule A7).
std::int64_t EffectivePriority(const JobRecord& job, const AdmissionSettings& settings);
/// The time that orders jobs of equal priority (rule A8).
WallTime QueueTime(const JobRecord& job, const AdmissionSettings& settings);
/// Null if the job has no such condition.
const Condition* FindCondition(const JobRecord& job, std::string_view type);
/// True if the job has the condition and it is True.
bool IsTrue(const JobRecord& job, std::string_view type);
/// False for a batch script submitted with --no-requeue.
bool MayRequeue(const JobRecord& job);
/// The job's batch state; all defaults if it has none.
const BatchState& BatchStateOf(const JobRecord& job);
/// True for the record that stands for the waiting tasks of an array.
bool IsArrayRecord(const JobRecord& job);
/// The host names of the job's nodes, in the order of SLURM_NODEID (rule B28): the member's name
/// for one node, NAME-0, NAME-1 ... for several (of a heterogeneous job NAME-main-0-0 ...); empty
/// before it has a member.
std::vector<std::string> HostsOf(const JobRecord& job);
/// The same as a host list: "east", "job-7-[0-1]"; "" before it has a member.
std::string NodeListOf(const JobRecord& job);

/// Everything about a job that a decision or a list needs; the manifest itself stays in PostgreSQL.
struct JobRecord {
  // Identity, fixed at acceptance.
  JobId id;
  Uid uid;
  /// DNS-1123; unique per (namespace, shape's kind) while the object exists.
  std::string name;
  /// A batch script's --job-name, free text; otherwise equal to name.
  std::string display_name;
  std::string ns;
  std::string user;
  /// The local account of the submitter, told by the kernel, munge or a token; never by the
  /// manifest. Root (0) only by the kernel's word. Unset: the submitter has none. Pods of local
  /// members run as it (rule U60).
  std::optional<std::uint32_t> account;
  ShapeKind shape = ShapeKind::kJob;
  std::string local_queue;
  std::string cluster_queue;   // as resolved from the LocalQueue
  std::string priority_class;  // "" if none
  std::int32_t priority = 0;
  std::int64_t priority_boost = 0;   // annotation kueue.x-k8s.io/priority-boost
  std::int64_t max_execution_s = 0;  // maximumExecutionTimeSeconds; 0: none
  bool elastic = false;              // annotation kueue.x-k8s.io/elastic-job
  PodSetsPtr pod_sets;
  std::int64_t time_limit_s = 0;  // 0: none declared
  /// -1: kept until it is deleted.
  std::int64_t ttl_after_finished_s = -1;
  WallTime submit_time;
  /// Null unless it is a batch script.
  std::shared_ptr<const BatchDetails> batch;
  /// Null if the job says nothing of its placement.
  JobPlacementPtr placement;

  // State; one owner: the engine.
  JobState state = JobState::kPending;
  /// Held.
  bool suspended_by_user = false;
  /// DELETE was received: the object ends when the job has ended.
  bool deletion_requested = false;
  Reason reason = Reason::kNone;
  std::string message;
  /// The member cluster of the current attempt.
  std::string cluster;
  std::int32_t attempt = 0;  // 0: none yet
  /// Set while the job holds quota.
  AdmissionPtr admission;
  WallTime admit_time, start_time, end_time;
  std::optional<std::int32_t> exit_code;
  std::int32_t exit_signal = 0;
  std::int32_t requeues = 0;
  std::shared_ptr<const std::vector<Condition>> conditions;  // null: none
  /// Null if all of it has its default.
  AdmissionStatePtr admission_state;
  /// Null if all of it has its default, as for every job that is no batch script.
  BatchStatePtr batch_state;
  /// Event number of its acceptance; orders equal submit times.
  std::int64_t accept_seq = 0;
  /// Event number of its last change.
  std::int64_t resource_version = 0;
  std::int32_t ready_pods = 0, succeeded_pods = 0, failed_pods = 0;
};
using JobPtr = std::shared_ptr<const JobRecord>;

/// One ended execution, as sacct reads it.
struct AttemptRecord {
  JobId job;
  std::int32_t attempt = 0;
  std::string cluster;
  WallTime admit_time, start_time, end_time;
  /// kPending if the job was requeued.
  JobState outcome = JobState::kFailed;
  Reason reason = Reason::kNone;
  std::string message;
  std::optional<std::int32_t> exit_code;
  std::int32_t exit_signal = 0;
  AdmissionPtr admission;
  /// Of all its processes, by the member; all zero where it does not tell.
  MeasuredUse use = {};
};

}  // namespace muster
