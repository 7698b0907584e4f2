// The supervisor's orders: the pod's spec.json, fully resolved by the backend
// (backends/local/pods), so that the supervisor knows nothing about Kubernetes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/local/process/cgroup.h"
#include "schedd/base/result.h"

namespace muster::local {

enum class ContainerRole { kInit, kSidecar, kMain };
enum class RestartPolicy { kNever, kOnFailure, kAlways };
/// How mounts and host names are kept inside a container.
enum class Isolation { kNone, kMountNamespace, kUserNamespace };

struct MountSpec {
  std::string source, target;
  bool read_only = false;
  std::string sub_path;  // a part of the volume; "": all of it
  bool own = false;      // the source is a directory that the backend made for this pod
  bool create = false;   // a directory of the host that is created if it is absent
};

struct ContainerSpec {
  std::string name;
  ContainerRole role = ContainerRole::kMain;
  std::vector<std::string> argv, environment;  // environment: NAME=value
  std::string stand_in_for;  // an image; a stand-in is used if argv is empty or names no program
  std::string working_dir;   // "": the pod's own directory
  std::vector<MountSpec> mounts;
  std::int64_t memory_bytes = 0, cpu_milli = 0;  // limits; 0: none
  std::int64_t uid = -1, gid = -1;               // -1: the supervisor's
  std::vector<std::int64_t> groups;              // supplementary
  /// Files for the streams, relative to the working directory. "" means for stdin /dev/null, for
  /// stdout the log alone, for stderr the same as stdout.
  std::string stdin_path, stdout_path, stderr_path;
  bool append = false;  // to stdout_path and stderr_path
};

/// What only pods of batch scripts have (backends/local/pods/batch_world.h).
struct BatchPod {
  std::int64_t job = 0;
  bool script = false;  // its first main container is the batch script; else it waits for steps
  std::string host;
  int umask = -1;                                                 // -1: the usual one
  std::vector<std::pair<std::string, std::int64_t>> soft_limits;  // -1: unlimited
  std::vector<int> cpus;                                          // none: all
  std::string steps_dir, step_agent;
  int warning_signal = 0;  // 0: none
  bool warning_batch_only = false;
  std::int64_t warning_at_us = 0;  // by the wall clock
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
  std::optional<BatchPod> batch;
  std::vector<ContainerSpec> containers;  // init containers and sidecars in order, then the others
};

/// Reads spec.json. An error if it is unreadable or not of the form that pods/pod_builder.h makes.
Result<SupervisedPod> ReadSpecFile(const std::string& path);

}  // namespace muster::local
