// Controllers: what Kubernetes' own controllers would do with an object, as pure functions. One
// file per kind.
//
// A controller sees the object and every pod the attempt ever had, and answers which pods to start
// and stop and how far the object is. It keeps nothing: what the pods do not tell is in `memo`,
// which the backend stores.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/local/pods/pod_wish.h"
#include "schedd/base/result.h"
#include "schedd/model/dispatch.h"
#include "schedd/model/reason.h"

namespace muster::local {

inline constexpr std::int64_t kPodBackoffUs =
    10 * kMicrosPerSecond;  // Kubernetes' first delay of a Job's retry

struct ControllerInput {
  std::string name, ns;
  const json::object* object = nullptr;          // the whole manifest
  const std::vector<PodRecord>* pods = nullptr;  // in the order they were asked for
  const json::object* memo = nullptr;            // of the last step; empty at first
  std::vector<int> ports;  // PortsNeeded(object) free TCP ports, the attempt's own
  WallTime now;
  WallTime started;  // when the attempt was released
  std::int64_t backoff_us = kPodBackoffUs;
};

struct ControllerOutput {
  std::vector<PodWish> start;
  std::vector<std::string> stop;  // ids of pods
  json::object memo;
  WallTime wake_at;  // step again then, even if no pod changes; unset: no need
  RemotePhase phase = RemotePhase::kPending;  // kPending, kRunning, or the end: kSucceeded, kFailed
  Reason reason = Reason::kNone;
  std::string message;
  std::vector<ReclaimablePods> reclaimable;  // pods that will not run any more (rule A10)
};

/// One kind.
struct Controller {
  const char* api_version;
  const char* kind;
  ControllerOutput (*step)(const ControllerInput& input);
  /// How many TCP ports its pods meet at.
  int (*ports_needed)(const json::object& object);
  /// Every pod template of the object.
  std::vector<const json::object*> (*templates)(const json::object& object);
};

/// Null if the kind is none of Job, JobSet, RayJob, RayCluster, PyTorchJob, LeaderWorkerSet.
const Controller* FindController(const std::string& api_version, const std::string& kind);

extern const Controller kJobController, kJobSetController, kRayJobController, kRayClusterController,
    kPyTorchJobController, kLeaderWorkerSetController;

// --- what several controllers need
// ----------------------------------------------------------------

/// Five letters and digits that depend on nothing but the arguments: the suffix of a pod's name.
std::string NameSuffix(const std::string& owner, std::int32_t index, std::int32_t ordinal);
/// `name`, or name.2, name.3 ... where earlier pods of the attempt had it: unique.
std::string UniqueId(const std::vector<PodRecord>& pods, const std::string& name);
/// Pods of one owner and epoch, in order.
std::vector<const PodRecord*> PodsOf(const std::vector<PodRecord>& pods, const std::string& owner,
                                     std::int32_t epoch);
/// Ids of the live pods among them that were not asked to stop yet.
void StopLive(const std::vector<const PodRecord*>& pods, std::vector<std::string>* stop);
/// `first_us`, doubled `doublings` times, at most `most_us`.
std::int64_t BackoffUs(std::int64_t first_us, std::int32_t doublings, std::int64_t most_us);
/// The earlier of the two that are set.
WallTime Earlier(WallTime a, WallTime b);
/// MASTER_ADDR and MASTER_PORT: all pods of a local member share 127.0.0.1.
void AddRendezvous(int port, PodWish* wish);

}  // namespace muster::local
