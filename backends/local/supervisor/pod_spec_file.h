// What a supervisor is told: the pod's spec.json, fully resolved by the backend
// (backends/local/pods), so that nothing about Kubernetes has to be known here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/local/process/cgroup.h"
#include "schedd/base/result.h"

namespace muster::local {

enum class ContainerRole { kInit, kSidecar, kMain };
enum class RestartPolicy { kNever, kOnFailure, kAlways };
/// How mounts and host names are kept to the container.
enum class Isolation { kNone, kMountNamespace, kUserNamespace };

struct MountSpec {
  std::string source, target;
  bool read_only = false;
  std::string sub_path;  // of the volume; "": all of it
  bool own = false;      // the source is a directory that the backend made for this pod
  bool create = false;   // a directory of the host that is made if it is not there
};

struct ContainerSpec {
  std::string name;
  ContainerRole role = ContainerRole::kMain;
  std::vector<std::string> argv, environment;  // environment: NAME=value
  std::string stand_in_for;  // an image: where argv is empty or no program, its place is held
  std::string working_dir;   // "": the pod's own directory
  std::vector<MountSpec> mounts;
  std::int64_t memory_bytes = 0, cpu_milli = 0;      // limits; 0: none
  std::int64_t uid = -1, gid = -1;                   // -1: the supervisor's
  std::vector<std::int64_t> groups;                  // supplementary
  std::string stdin_path, stdout_path, stderr_path;  // "": /dev/null, log only, with stdout;
                                                     // relative: to the working directory
  bool append = false;                               // to stdout_path and stderr_path
};

struct SupervisedPod {
  std::string name, host_name, hosts_file;
  std::int64_t grace_period_s = 30;
  std::int64_t active_deadline_s = 0;  // 0: none
  RestartPolicy restart_policy = RestartPolicy::kNever;
  Isolation isolation = Isolation::kNone;
  std::vector<CgroupMount> cgroups;
  std::string cgroup_key;
  std::int64_t max_processes = 0;
  std::int64_t log_bytes = 0;
  std::vector<ContainerSpec> containers;  // init containers and sidecars in order, then the others
};

/// Reads spec.json. Errors: unreadable, not what pods/pod_builder.h makes.
Result<SupervisedPod> ReadSpecFile(const std::string& path);

}  // namespace muster::local
