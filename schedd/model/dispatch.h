// DispatchRow and Observation: the durable side of running an attempt on a member cluster
// (rules D1, D4, D19). Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedd/base/ids.h"
#include "schedd/base/time.h"
#include "schedd/model/job.h"
#include "schedd/model/step.h"

namespace muster {

/// The states of rule D4. Values are stored: never renumber.
enum class DispatchState : std::uint8_t {
  kIntent = 1,   // decided; only this state permits a create
  kCreated = 2,  // the object exists, suspended; its UID is recorded
  kReleasing = 3,
  kRunning = 4,
  kFinishing = 5,
  kTerminal = 6,  // result recorded; the object is kept for its logs
  kCleaning = 7,  // being removed
  kGone = 8,
  kRevoking = 9,   // cancelled or requeued: must be proven gone before the next attempt
  kUnknown = 10,   // member unreachable
  kConflict = 11,  // a foreign object has the name
  kLost = 12,      // confirmed missing
  kQuarantined = 13,
};
/// True while the attempt may have running pods: at most one such row per job.
inline bool IsLive(DispatchState state) {
  return state != DispatchState::kTerminal && state != DispatchState::kCleaning &&
         state != DispatchState::kGone && state != DispatchState::kLost;
}

/// Identifies one execution on one member. Calls of a backend are idempotent by it.
struct DispatchKey {
  Uid job_uid;
  std::int32_t attempt = 0;
  std::string cluster;
  auto operator<=>(const DispatchKey&) const = default;
};

/// One attempt on one member, as it is stored.
struct DispatchRow {
  DispatchKey key;
  JobId job;
  /// Of the member; "" if unknown.
  std::string incarnation;
  std::string object_kind, ns, name;
  std::string remote_uid;  // "" until recorded
  DispatchState state = DispatchState::kIntent;
  /// Why, in the side states.
  std::string detail;
};

/// How far the attempt has come on its member.
enum class RemotePhase : std::uint8_t {
  kSuspended,
  kPending,
  kRunning,
  kSucceeded,
  kFailed,
  kMissing,
};

/// The object of an attempt as its member knows it; that of a batch script is a Job.
struct RemoteObject {
  std::string api_version, kind, ns, name;
  bool operator==(const RemoteObject&) const = default;
};

/// One report of a member about one attempt. Observations of one key arrive in order.
struct Observation {
  DispatchKey key;
  std::string remote_uid;
  /// Empty where a member has no addressable objects.
  RemoteObject object;
  std::string incarnation;  // of the member, "" if it has none
  /// The member keeps the object until it is told that the result is recorded
  /// (Backend::Acknowledge).
  bool held = false;
  /// The deletion of the object was requested on the member.
  bool deleting = false;
  /// DispatchOrder::sequence as the object has it; 0 if it has none.
  std::int64_t sequence = 0;
  /// When the report arrived.
  WallTime observed_at;
  RemotePhase phase = RemotePhase::kPending;
  std::int32_t ready_pods = 0, active_pods = 0, succeeded_pods = 0, failed_pods = 0;
  WallTime start_time, end_time;
  /// Of the first failing container, or 0.
  std::optional<std::int32_t> exit_code;
  std::int32_t exit_signal = 0;
  /// Why it failed.
  Reason reason = Reason::kNone;
  std::string message;
  /// Pods that will not run any more, by pod set, as the kind counts them (rule A10): their quota
  /// may go to other jobs while the rest runs. Pod sets without such pods are left out.
  std::vector<ReclaimablePods> reclaimable;
  /// Of all processes of the attempt so far; all zero where the member does not tell.
  MeasuredUse use = {};
  /// Steps that are new or changed since the last report; a member may repeat them.
  std::vector<StepRecord> steps = {};
};

/// One pod of an attempt, as `muster describe job` shows it.
struct PodStatus {
  std::string name, pod_set, phase, message;  // phase: Pending, Running, Succeeded, Failed
  std::string node;                           // "" until bound, or where a member has no nodes
  std::int32_t index = -1;
  std::optional<std::int32_t> exit_code;
  std::int32_t exit_signal = 0;
  WallTime start_time, end_time;
};

}  // namespace muster
