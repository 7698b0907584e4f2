// The local backend: member clusters made of this host's processes. Every pod is a process tree
// kept by a small supervisor (backends/local/supervisor) that outlives the daemon; everything about
// an attempt is on disk, so that a restarted daemon adopts what runs and reads what ended.
// README.md tells the whole story.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "schedd/base/clock.h"
#include "schedd/base/random.h"
#include "schedd/base/result.h"

namespace muster {

/// One local member, as declared.
struct LocalCluster {
  std::string name;  // a DNS label: it names a directory
  ResourceList
      allocatable;  // cpu and memory left out mean this host's; any other resource may be declared
  LabelMap labels;
};

struct LocalOptions {
  std::string state_dir;        // created if absent; one backend at a time owns it (held by a lock)
  std::string supervisor_path;  // the program muster-pod-supervisor
  std::vector<LocalCluster> clusters;
  const Clock* clock = nullptr;  // these three outlive the backend
  TimerService* timers = nullptr;
  Random* random = nullptr;
  std::string search_path =
      "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";  // PATH of containers
  std::string home = "/";                                              // HOME of containers
  std::int64_t pod_backoff_ms =
      10'000;  // before a failed pod is replaced; doubled each time (Kubernetes' own)
  std::int64_t max_processes_per_pod =
      4096;                    // a fork bomb stops here; pid_max of a small host is 32,768
  bool use_cgroups = true;     // false: rlimits only
  bool use_namespaces = true;  // false: volumes by symlink, the host's own name
};

/// Opens the state directory, adopts every attempt found there (running pods go on, ends that came
/// while nobody looked are read from disk) and starts the backend's one thread. Callbacks and sink
/// calls come from it. Errors: kInvalidArgument (options), kFailedPrecondition (another backend
/// holds the directory, the supervisor is not an executable), kUnavailable (the disk or the kernel
/// refuses).
Result<std::unique_ptr<Backend>> MakeLocalBackend(LocalOptions options);

}  // namespace muster
