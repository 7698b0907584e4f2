// What this host gives: its size, free ports, and which limits and isolation pods get here.
#pragma once

#include <string>
#include <vector>

#include "backends/local/process/cgroup.h"
#include "schedd/base/random.h"
#include "schedd/model/resources.h"

namespace muster::local {

/// Found once, when the backend opens.
struct HostAbilities {
  std::vector<CgroupMount> cgroups;
  std::string isolation;  // "mount", "user" or "none"
  std::int64_t own_uid = 0, own_gid = 0;
  std::string description;  // for ClusterFacts.message
};

/// Adds cpu and memory of the host where `declared` says nothing about them.
ResourceList WithHostDefaults(ResourceList declared);
/// `cgroup_name` names this installation's groups.
HostAbilities FindAbilities(const std::string& supervisor_path, bool use_cgroups,
                            bool use_namespaces, const std::string& cgroup_name);
/// The group that a user of this host has at a login; the user's own number if nobody knows it.
std::int64_t LoginGroupOf(std::int64_t uid);
/// Different TCP ports that were free a moment ago, at random so that two members rarely meet;
/// fewer than `count` if too few are free.
std::vector<int> FreePorts(int count, Random& random);

}  // namespace muster::local
