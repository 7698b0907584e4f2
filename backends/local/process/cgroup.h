// Control groups for pods: cgroup v2 where its controllers are at hand, version 1 hierarchies where
// the host still uses those, nothing where neither may be written.
//
// A mount is found once by the backend (FindCgroups) and handed to supervisors in the pod's spec; a
// supervisor makes one group for its pod and one below it for each container. Thread-safe (no
// state).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "schedd/base/result.h"

namespace muster::local {

/// One writable hierarchy and what it can limit there.
struct CgroupMount {
  int version = 2;
  std::string base;  // directory under which pods' groups are made, e.g. /sys/fs/cgroup/muster
  bool memory = false, cpu = false, pids = false;
};

/// Makes and probes `<hierarchy>/<name>` in every hierarchy of /proc/self/mountinfo. Empty: no
/// cgroups here.
std::vector<CgroupMount> FindCgroups(const std::string& name);

/// "cgroup v2: memory, cpu, pids" and so on, for people; "" if empty.
std::string DescribeCgroups(const std::vector<CgroupMount>& mounts);

/// The groups of one pod over all mounts. Not thread-safe.
class PodCgroups {
 public:
  PodCgroups(std::vector<CgroupMount> mounts, std::string pod_key);
  /// Makes the pod's groups and bounds its processes. On failure nothing of the pod may start.
  Status Create(std::int64_t max_processes);
  /// Makes a container's group with its limits (0: none). memory in bytes, cpu in milli-cpus.
  Status CreateContainer(const std::string& name, std::int64_t memory, std::int64_t cpu_milli);
  /// Moves the calling process into the container's group; between fork and exec.
  bool Enter(const std::string& name) const;
  /// How many processes of the container the kernel has killed for want of memory, over all its
  /// runs; 0 where no group tells.
  std::int64_t OutOfMemoryKills(const std::string& name) const;
  /// Processes of one container, or of the pod (""): those of the first hierarchy.
  std::vector<pid_t> Processes(const std::string& name) const;
  /// KILLs everything in the pod's groups until none is left; false if some would not go.
  bool KillAll() const;
  void Remove() const;
  bool limits_memory() const;
  bool limits_cpu() const;
  bool limits_processes() const;
  bool empty() const { return mounts_.empty(); }

 private:
  std::string Dir(const CgroupMount& mount, const std::string& container) const;

  std::vector<CgroupMount> mounts_;
  std::string key_;
};

}  // namespace muster::local
