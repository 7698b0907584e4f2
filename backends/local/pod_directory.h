// A pod on disk: what was asked (pod.json, spec.json, volumes), what its supervisor says
// (status.json, log), what it was told (stop), and whether that supervisor lives (the lock on
// `alive`).
//
// Functions of a directory; used on the backend's thread, reads also elsewhere.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/local/pods/pod_builder.h"
#include "backends/local/pods/pod_wish.h"
#include "schedd/base/result.h"

namespace muster::local {

/// One supervisor process, named for good.
struct SupervisorId {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;
};

/// A pod as read from its directory.
struct PodOnDisk {
  PodRecord record;
  SupervisorId supervisor;
  bool has_status = false;
};

/// Writes the whole directory at once (built beside it, then renamed).
Status WritePodDirectory(const std::string& dir, const PodIdentity& identity, std::int64_t sequence,
                         WallTime created, const BuiltPod& built);
/// A pod that never could start: a directory with nothing but its story.
Status WriteRefusedPod(const std::string& dir, const PodIdentity& identity, std::int64_t sequence,
                       WallTime created, const std::string& why);
/// Reads pod.json, status.json and `stop`. Errors: pod.json is unreadable.
Result<PodOnDisk> ReadPodDirectory(const std::string& dir, std::int64_t* sequence);
/// Starts the supervisor of a written pod. kAlreadyExists: it has one that lives.
Status SpawnSupervisor(const std::string& supervisor_path, const std::string& dir);
/// True while the pod's supervisor lives.
bool SupervisorLives(const std::string& dir);
/// Writes the wish to stop and tells the supervisor if it is known; grace_ms < 0: the pod's own.
Status RequestStop(const std::string& dir, SupervisorId supervisor, std::int64_t grace_ms);
/// KILLs the supervisor (if it is still that process) and everything the pod left.
void KillRemains(const std::string& dir, const SupervisorId& supervisor);
/// Records an end that the supervisor itself could not.
Status WriteLostStatus(const std::string& dir, const PodOnDisk& pod, WallTime now,
                       const std::string& reason, const std::string& why);
/// Containers of a pod in its spec's order: main ones first, as `kubectl logs` chooses.
std::vector<std::string> ContainersOf(const std::string& dir);
/// True if the container runs no more and never will again.
bool ContainerEnded(const std::string& dir, const std::string& container);

}  // namespace muster::local
