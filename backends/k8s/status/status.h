// From an object and its pods, as an API server sends them, to an Observation. There are two steps,
// so that caches of members keep small plain values and no JSON: ReadObject and ReadPod read what
// arrives, Observe joins them when an observation is reported.
//
// Pure functions; thread-safe. Anything that a member sends is accepted: fields of a wrong type
// count as absent, texts are cut and made valid UTF-8, numbers are bounded. The README.md of the
// directory above has a table of the states that each kind can report.
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

/// The attempt that an object or pod belongs to, by its labels.
struct AttemptLabels {
  Uid job_uid;
  std::int32_t attempt = 0;
  auto operator<=>(const AttemptLabels&) const = default;
};

/// The parts of an object that are kept.
struct ObjectState {
  const KindInfo* kind = nullptr;
  /// Nothing if the labels are missing or malformed, or if another object controls this one (a
  /// RayJob's RayCluster has the labels too): then it is no attempt's object.
  std::optional<AttemptLabels> attempt;
  std::string ns, name, uid, resource_version;
  /// Grows with each change of the spec and with the deletion, not with the status; 0 if the member
  /// does not count it.
  std::int64_t generation = 0;
  std::int64_t sequence = 0;    // by its annotation; 0 if it has none
  std::int32_t finalizer = -1;  // the position of ours in metadata.finalizers; -1: absent
  bool deleting = false;        // it has a deletionTimestamp
  bool suspended = false;       // by its spec
  bool released = false;        // it was released at some time, by its annotation
  RemotePhase phase = RemotePhase::kPending;  // never kMissing
  Reason reason = Reason::kNone;              // of a failure
  std::string message;
  WallTime start_time, end_time;  // not set if the kind's status lacks them
  /// Pods as the kind's own status counts them; -1 if it does not count them.
  std::int32_t ready = -1, active = -1, succeeded = -1, failed = -1;
  /// The object runs when so many of its pods are ready or done. Set for kinds whose own status is
  /// slower than their pods (a Job's lags by a second); -1: only the status counts.
  std::int32_t wanted = -1;
  std::vector<ReclaimablePods> reclaimable;
};

enum class PodPhase : std::uint8_t { kPending, kRunning, kSucceeded, kFailed };

/// By what a pod was taken away; kNone if it was not, or failed by itself.
enum class Disruption : std::uint8_t { kNone, kEvicted, kPreempted, kNodeLost };

/// The first container of a pod that ended with an exit code other than 0.
struct ContainerFailure {
  std::string container, reason;  // reason: "OOMKilled", "Error", or "" if there is none
  std::int32_t exit_code = 0, exit_signal = 0;
  WallTime time;
};

/// The parts of a pod that are kept.
struct PodState {
  std::optional<AttemptLabels> attempt;  // nothing if its labels are missing or malformed
  std::string ns, name, uid, node, pod_set;
  std::int32_t index = -1;  // its completion index, rank or group; -1 if it has none
  PodPhase phase = PodPhase::kPending;
  bool ready = false;
  bool deleting = false;
  /// Set by the caller for a deleted pod. Such a pod does not count any more, but explains why the
  /// attempt failed. One per attempt is enough: the one that failed first (FailedBefore).
  bool gone = false;
  Disruption disruption = Disruption::kNone;
  std::optional<ContainerFailure> failure;
  /// The latest end of one of its containers has the reason OOMKilled, whatever its exit code.
  /// Runtimes also report that for a container that went on after one of its processes was killed.
  bool out_of_memory = false;
  std::string message;  // why it waits or has failed: "Unschedulable: 0/3 nodes are available"
  WallTime start_time, end_time;
  std::vector<std::string> containers;  // names, init containers last
};

/// The labels of any object; nothing if they are missing or malformed.
std::optional<AttemptLabels> ReadAttemptLabels(const json::object& object);
/// Reads an object of `kind`.
ObjectState ReadObject(const KindInfo& kind, const json::object& object);
/// Reads a pod.
PodState ReadPod(const json::object& pod);

/// Joins an object with `pods`, those with its labels, in any order. The caller fills key.cluster,
/// incarnation and observed_at. An object without an attempt gives an empty key.
Observation Observe(const ObjectState& object, std::span<const PodState> pods);

/// The order of pods in lists: pod set, index, name.
bool PodBefore(const PodState& a, const PodState& b);
/// True if `a` explains the attempt's failure better than `b`: a pod that failed by itself goes
/// before one that was taken away, then the earlier goes before the later; pods without a failure
/// come last.
bool FailedBefore(const PodState& a, const PodState& b);
PodStatus ToPodStatus(const PodState& pod);

}  // namespace muster::k8s
