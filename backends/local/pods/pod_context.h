// PodContext: the surroundings of a pod while it is built. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/local/pods/job_accounts.h"
#include "backends/local/pods/json_read.h"
#include "backends/local/process/cgroup.h"
#include "schedd/base/time.h"
#include "schedd/model/resources.h"

namespace muster::local {

/// A ConfigMap or Secret of the attempt.
struct Dependent {
  std::string kind, name;
  json::object manifest;
};

struct PodContext {
  std::string ns, cluster, pod_uid;
  std::string pod_dir;      // absolute
  std::string marker_key;   // unique on this host; also the name of the pod's control group
  std::string search_path;  // PATH of containers
  std::string home;         // HOME of containers that run as the daemon's own user
  std::string hosts_file;   // "": none
  std::string isolation;    // "mount", "user" or "none"
  const std::vector<Dependent>* dependents = nullptr;
  const ResourceList* allocatable = nullptr;
  std::vector<CgroupMount> cgroups;
  std::int64_t max_processes = 0, log_bytes = 0;
  JobAccounts accounts;
  /// Devices that the pod has been given (nvidia.com/gpu), by their numbers.
  std::vector<int> devices;
  /// For pods of batch scripts (batch_world.h): the job's number, the cpus that the pod has been
  /// given (none: all), where steps report, the program that runs them, the directory of the Slurm
  /// commands ("": none), and when the job's time began: later by the time that it was suspended.
  std::int64_t job = 0;
  std::vector<int> cpus;
  std::string steps_dir, step_agent, commands_dir;
  std::string script_host;  // of the pod that runs the script; "": it is the first one
  WallTime time_began;
};

}  // namespace muster::local
