// What this host offers to pods: its size, free ports, and which limits and isolation work here.
#pragma once

#include <string>
#include <vector>

#include "backends/local/process/cgroup.h"
#include "schedd/base/random.h"
#include "schedd/model/resources.h"

namespace muster::local {

/// Determined once, when the backend opens.
struct HostAbilities {
  std::vector<CgroupMount> cgroups;
  std::string isolation;  // "mount", "user" or "none"
  std::int64_t own_uid = 0, own_gid = 0;
  std::string description;  // ClusterFacts::message
};

/// Adds cpu and memory of the host where `declared` lacks them.
ResourceList WithHostDefaults(ResourceList declared);
/// `cgroup_name`: the directory of this installation's control groups.
HostAbilities FindAbilities(const std::string& supervisor_path, bool use_cgroups,
                            bool use_namespaces, const std::string& cgroup_name);
/// The numbers of the cpus that this process, and so its pods, may run on.
std::vector<int> UsableCpus();
/// Different TCP ports that were free a moment ago, chosen at random so that two members rarely
/// pick the same; fewer than `count` if too few are free.
std::vector<int> FreePorts(int count, Random& random);

}  // namespace muster::local
