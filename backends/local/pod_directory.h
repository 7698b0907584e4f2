// A pod on disk: what was ordered (pod.json, spec.json, volumes), what its supervisor reports
// (status.json, log), the request to stop (stop), and whether that supervisor lives (the lock on
// `alive`).
//
// Functions of a directory; used on the backend's thread, reads also on others.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/local/pods/pod_builder.h"
#include "backends/local/pods/pod_wish.h"
#include "backends/local/process/stop_request.h"
#include "schedd/base/result.h"

namespace muster::local {

/// One supervisor process. A pid is reused, a pid with its start time is not.
struct SupervisorId {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;
};

/// A pod as read from its directory.
struct PodOnDisk {
  PodRecord record;
  SupervisorId supervisor;
  bool has_status = false;
  bool takes_orders = false;  // the supervisor does: that of an earlier release does not
};

/// Writes the whole directory at once (built beside it, then renamed).
Status WritePodDirectory(const std::string& dir, const PodIdentity& identity, std::int64_t sequence,
                         WallTime created, const BuiltPod& built);
/// Writes a pod that cannot be started: a directory with a failed status and the reason.
Status WriteRefusedPod(const std::string& dir, const PodIdentity& identity, std::int64_t sequence,
                       WallTime created, const std::string& why);
/// Reads pod.json, status.json and `stop`. kUnavailable: they cannot be read now; kInternal:
/// pod.json is absent or broken.
Result<PodOnDisk> ReadPodDirectory(const std::string& dir, std::int64_t* sequence);
/// Reads status.json and `stop` anew into a pod whose pod.json was read before; if they cannot be
/// read now (kUnavailable), it stays as it is.
Status ReadPodStatus(const std::string& dir, PodOnDisk* pod);
/// Starts the supervisor of a written pod. kAlreadyExists: a supervisor of the pod lives.
Status SpawnSupervisor(const std::string& supervisor_path, const std::string& dir);
/// True while the pod's supervisor lives; nullopt if that cannot be told now, for instance because
/// no descriptors are left.
std::optional<bool> SupervisorLives(const std::string& dir);
/// Writes the request to stop and signals the supervisor if it is known.
Status RequestStop(const std::string& dir, SupervisorId supervisor, const StopRequest& request);
/// Leaves an order (supervisor/pod_control.cc) to the supervisor, as file `orders/NUMBER`, and
/// signals it if it is known; orders are carried out in the order of their numbers.
/// kResourceExhausted: it has not taken earlier ones.
Status PostOrder(const std::string& dir, SupervisorId supervisor, std::int64_t number,
                 const json::object& order);
/// The cpus and devices that the pod was given, from its spec.json.
struct GivenToPod {
  std::vector<int> cpus, devices;
};
GivenToPod ReadGiven(const std::string& dir);
/// Kills the supervisor (if the pid still is that process; one that is not known is read from
/// status.json) and everything that the pod has left.
void KillRemains(const std::string& dir, const SupervisorId& known);
/// Writes the end of a pod whose supervisor could not.
Status WriteLostStatus(const std::string& dir, const PodOnDisk& pod, WallTime now,
                       const std::string& reason, const std::string& why);
/// Containers of a pod, main ones first, as `kubectl logs` chooses.
std::vector<std::string> ContainersOf(const std::string& dir);
/// True if the container does not run and will not be restarted.
bool ContainerEnded(const std::string& dir, const std::string& container);

}  // namespace muster::local
