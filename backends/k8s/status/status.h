// From what an API server says of an object and its pods to an Observation. In two steps, so that
// a member's caches keep small plain values and no JSON: ReadObject and ReadPod when something
// arrives, Observe when it is told.
//
// Pure functions; thread-safe. Whatever a member sends is taken: members of a wrong type count as
// absent, texts are cut and made valid UTF-8, numbers are bounded. README.md has the table of what
// each kind can report.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/k8s/status/kinds.h"
#include "schedd/model/dispatch.h"
#include "schedd/text/json.h"

namespace muster::k8s {

/// Which attempt something belongs to, by its labels.
struct AttemptLabels {
  Uid job_uid;
  std::int32_t attempt = 0;
  auto operator<=>(const AttemptLabels&) const = default;
};

/// What is kept of an object.
struct ObjectState {
  const KindInfo* kind = nullptr;
  /// Nothing if the labels are missing or malformed, or if another object controls this one (a
  /// RayJob's RayCluster has the labels too): then it is no attempt's object.
  std::optional<AttemptLabels> attempt;
  std::string ns, name, uid, resource_version;
  /// Grows with each change of its spec and with its deletion, not with its status; 0 if the
  /// member does not count it.
  std::int64_t generation = 0;
  std::int64_t sequence = 0;    // of its annotation; 0 if it has none
  std::int32_t finalizer = -1;  // where ours stands in metadata.finalizers; -1: nowhere
  bool deleting = false;        // it has a deletionTimestamp
  bool suspended = false;       // its spec says so
  bool released = false;        // it has been released once, by its annotation
  RemotePhase phase = RemotePhase::kPending;  // never kMissing
  Reason reason = Reason::kNone;              // of a failure
  std::string message;
  WallTime start_time, end_time;  // where the kind tells them
  /// Pods as the kind's own status counts them; -1 where it does not.
  std::int32_t ready = -1, active = -1, succeeded = -1, failed = -1;
  /// Pods that must be ready or done for it to run, where pods tell that sooner than the kind's
  /// status (a Job's lags by a second); -1: only the status tells.
  std::int32_t wanted = -1;
  std::vector<ReclaimablePods> reclaimable;
};

enum class PodPhase : std::uint8_t { kPending, kRunning, kSucceeded, kFailed };

/// What took a pod away that did not fail by itself.
enum class Disruption : std::uint8_t { kNone, kEvicted, kPreempted, kNodeLost };

/// The first container of a pod that ended with another code than 0.
struct ContainerFailure {
  std::string container, reason;  // reason: "OOMKilled", "Error", "" if the member gave none
  std::int32_t exit_code = 0, exit_signal = 0;
  WallTime time;
};

/// What is kept of a pod.
struct PodState {
  std::optional<AttemptLabels> attempt;  // nothing if its labels are missing or malformed
  std::string ns, name, uid, node, pod_set;
  std::int32_t index = -1;  // its completion index, rank or group; -1 if it has none
  PodPhase phase = PodPhase::kPending;
  bool ready = false;
  bool deleting = false;
  /// Set by the caller for a pod that was deleted: it counts no more, but tells why it failed. Of
  /// an attempt the one whose failure is the earliest is worth keeping (FailedBefore).
  bool gone = false;
  Disruption disruption = Disruption::kNone;
  std::optional<ContainerFailure> failure;
  /// The newest end of one of its containers came with OOMKilled, whatever its exit code: a runtime
  /// says so too when the container itself went on after a process of it was killed.
  bool out_of_memory = false;
  std::string message;  // why it waits or failed: "Unschedulable: 0/3 nodes are available"
  WallTime start_time, end_time;
  std::vector<std::string> containers;  // names, init containers last
};

/// The labels of any object; nothing if they are missing or malformed.
std::optional<AttemptLabels> ReadAttemptLabels(const json::object& object);
/// Reads an object of `kind`.
ObjectState ReadObject(const KindInfo& kind, const json::object& object);
/// Reads a pod.
PodState ReadPod(const json::object& pod);

/// What the member reports of the attempt. `pods`: those with its labels, in any order. The caller
/// fills key.cluster, incarnation and observed_at. An object without an attempt gives an empty key.
Observation Observe(const ObjectState& object, std::span<const PodState> pods);

/// For lists of pods, in this order.
bool PodBefore(const PodState& a, const PodState& b);
/// True if `a` tells more of why the attempt fails than `b`: one that failed by itself before one
/// that was taken away, then the earlier one. What did neither comes last.
bool FailedBefore(const PodState& a, const PodState& b);
PodStatus ToPodStatus(const PodState& pod);

}  // namespace muster::k8s
