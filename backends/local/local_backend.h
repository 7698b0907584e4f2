// The local backend: member clusters made of this host's processes. Every pod is a process tree
// below a small supervisor (backends/local/supervisor) that outlives the daemon. The state of an
// attempt is on disk, so a restarted daemon adopts what runs and reads what has ended.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "schedd/base/clock.h"
#include "schedd/base/random.h"
#include "schedd/base/result.h"

namespace muster {

/// One local member, as declared.
struct LocalCluster {
  /// A DNS label; it names a directory.
  std::string name;
  /// cpu and memory default to those of this host; any other resource may be declared.
  ResourceList allocatable;
  LabelMap labels;
  /// The user of jobs whose submitter has no account on this host; "": nobody, if there is one.
  /// Only for a daemon that runs as root.
  std::string job_account = {};
  /// Whether root's jobs run as root; unset: yes, if the daemon runs as root (rule U62).
  std::optional<bool> root_jobs = {};
};

struct LocalOptions {
  /// Created if absent. A lock lets one backend at a time use it.
  std::string state_dir;
  /// The path of the program muster-pod-supervisor (InstalledSupervisor).
  std::string supervisor_path;
  std::vector<LocalCluster> clusters;
  /// Users that no job runs as, because files of the daemon belong to them.
  std::vector<std::int64_t> reserved_users = {};
  /// These three must outlive the backend. Time limits and back-offs go by the clock's WallNow.
  const Clock* clock = nullptr;
  TimerService* timers = nullptr;
  Random* random = nullptr;
  /// PATH of containers, and HOME of those that run as the daemon's own user.
  std::string search_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  std::string home = "/";
  /// The pause before a failed pod is replaced, doubled each time; Kubernetes' first delay.
  std::int64_t pod_backoff_ms = 10'000;
  /// A bound for fork bombs; pid_max of a small host is 32,768.
  std::int64_t max_processes_per_pod = 4096;
  /// False: limits by rlimits only.
  bool use_cgroups = true;
  /// False: volumes by symbolic links, and the host's own name.
  bool use_namespaces = true;
};

/// muster-pod-supervisor in the directory of the running program, where it is installed.
std::string InstalledSupervisor();

/// Opens the state directory, adopts every attempt found there (pods run on; ends that came while
/// no daemon ran are read from disk) and starts the backend's one thread, on which callbacks and
/// sink calls come. Errors: kInvalidArgument (options), kFailedPrecondition (another backend holds
/// the directory, or the supervisor is not executable), kUnavailable (the disk or the kernel
/// refuses).
Result<std::unique_ptr<Backend>> MakeLocalBackend(LocalOptions options);

}  // namespace muster
