// Control groups of pods: cgroup v2 where its controllers are available, version 1 hierarchies
// where the host still uses those, none where neither is writable.
//
// The backend finds the mounts once (FindCgroups) and passes them to supervisors in the pod's spec;
// a supervisor makes one group for its pod and one below it for each container. Thread-safe (no
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

/// Makes and probes `<hierarchy>/<name>` in every hierarchy of /proc/self/mountinfo. Empty: this
/// host has no usable control groups.
std::vector<CgroupMount> FindCgroups(const std::string& name);

/// "cgroup v2: memory, cpu, pids" and so on, for users; "" without mounts.
std::string DescribeCgroups(const std::vector<CgroupMount>& mounts);

/// The groups of one pod over all mounts. Not thread-safe.
class PodCgroups {
 public:
  PodCgroups(std::vector<CgroupMount> mounts, std::string pod_key);
  /// Makes the pod's groups and bounds its processes. On failure no process of the pod may start.
  Status Create(std::int64_t max_processes);
  /// Makes a container's group with its limits (0: none). memory in bytes, cpu in milli-cpus.
  Status CreateContainer(const std::string& name, std::int64_t memory, std::int64_t cpu_milli);
  /// For a container of a batch script, after CreateContainer: the kernel kills one process that
  /// lacks memory and not all of them, and the group has these cpus alone (none: all) where version
  /// 2 has that controller.
  void SetForBatch(const std::string& name, const std::vector<int>& cpus) const;
  /// What the container's processes have used over all its runs; -1: the groups do not tell.
  struct Use {
    std::int64_t user_cpu_us = -1, system_cpu_us = -1;
    std::int64_t memory_peak_bytes = -1;
    std::int64_t read_bytes = -1, written_bytes = -1;
  };
  Use Used(const std::string& name) const;
  /// Moves the calling process into the container's group. Called between fork and exec.
  bool Enter(const std::string& name) const;
  /// How many processes of the container the kernel has killed for lack of memory, over all its
  /// runs; 0 without a memory controller.
  std::int64_t OutOfMemoryKills(const std::string& name) const;
  /// The processes of a container, or of the pod (""), by the first hierarchy.
  std::vector<pid_t> Processes(const std::string& name) const;
  /// Kills everything in the pod's groups until no process is left; false if some do not end.
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
