// Controllers: the behaviour of Kubernetes' own controllers, one per kind of object, as pure
// functions.
//
// A controller sees the object and every pod that the attempt has ever had, and decides which pods
// to start and stop and how far the object is. It keeps no state: what cannot be told from the pods
// is in `memo`, which the backend stores.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/local/pods/pod_wish.h"
#include "schedd/base/result.h"
#include "schedd/model/dispatch.h"
#include "schedd/model/reason.h"

namespace muster::local {

/// Kubernetes' first delay before it retries a Job's pod.
inline constexpr std::int64_t kPodBackoffUs = 10 * kMicrosPerSecond;

struct ControllerInput {
  std::string name, ns;
  const json::object* object = nullptr;          // the whole manifest
  const std::vector<PodRecord>* pods = nullptr;  // in the order in which they were started
  const json::object* memo = nullptr;            // of the last step; empty at first
  std::vector<int> ports;                        // free TCP ports, Controller::ports_needed of them
  WallTime now;
  WallTime started;            // when the attempt was released, and later by paused_us
  std::int64_t paused_us = 0;  // how long it has been suspended since then
  std::int64_t backoff_us = kPodBackoffUs;
};

struct ControllerOutput {
  std::vector<PodWish> start;
  std::vector<std::string> stop;  // ids of pods
  json::object memo;
  /// The next step is due at this time even if no pod changes; not set: none is.
  WallTime wake_at;
  /// kPending, kRunning, or the end: kSucceeded, kFailed.
  RemotePhase phase = RemotePhase::kPending;
  Reason reason = Reason::kNone;
  std::string message;
  std::vector<ReclaimablePods> reclaimable;  // pods that will not run any more (rule A10)
};

/// One kind.
struct Controller {
  const char* api_version;
  const char* kind;
  ControllerOutput (*step)(const ControllerInput& input);
  /// How many TCP ports its pods need to find each other.
  int (*ports_needed)(const json::object& object);
  /// Every pod template of the object.
  std::vector<const json::object*> (*templates)(const json::object& object);
};

/// Null for kinds other than Job, JobSet, RayJob, RayCluster, PyTorchJob, LeaderWorkerSet.
const Controller* FindController(const std::string& api_version, const std::string& kind);

extern const Controller kJobController, kJobSetController, kRayJobController, kRayClusterController,
    kPyTorchJobController, kLeaderWorkerSetController;

// --- shared by several controllers ---------------------------------------------------------------

/// The suffix of a pod's name: five letters and digits that depend on the arguments alone.
std::string NameSuffix(const std::string& owner, std::int32_t index, std::int32_t ordinal);
/// `name`, or name.2, name.3 ... if earlier pods of the attempt had it.
std::string UniqueId(const std::vector<PodRecord>& pods, const std::string& name);
/// Pods of one owner and epoch, in order.
std::vector<const PodRecord*> PodsOf(const std::vector<PodRecord>& pods, const std::string& owner,
                                     std::int32_t epoch);
/// Adds the ids of those pods that live and were not asked to stop yet.
void StopLive(const std::vector<const PodRecord*>& pods, std::vector<std::string>* stop);
/// `first_us`, doubled `doublings` times, at most `most_us`.
std::int64_t BackoffUs(std::int64_t first_us, std::int32_t doublings, std::int64_t most_us);
/// The earlier of two times; one that is not set does not count.
WallTime Earlier(WallTime a, WallTime b);
/// Sets MASTER_ADDR and MASTER_PORT. All pods of a local member share 127.0.0.1.
void AddRendezvous(int port, PodWish* wish);

}  // namespace muster::local
