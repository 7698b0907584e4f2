// PodContext: the surroundings of a pod while it is built. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/local/pods/job_accounts.h"
#include "backends/local/pods/json_read.h"
#include "backends/local/process/cgroup.h"
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
};

}  // namespace muster::local
