// The users of a pod's containers on this host, and the owners of the pod's directories. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/local/pods/job_accounts.h"
#include "backends/local/pods/json_read.h"
#include "schedd/base/result.h"

namespace muster::local {

/// A container's user on this host; -1: the daemon's own.
struct PodUser {
  std::int64_t uid = -1, gid = -1;
  std::vector<std::int64_t> groups;  // supplementary
  bool operator==(const PodUser&) const = default;
  bool foreign() const { return uid >= 0; }
};

/// The user that a container runs as (JobUser), with the groups of its account and those that
/// securityContext asks for. Without runAsGroup the group is the account's login group. Errors
/// (kInvalidArgument): a user or group that the job may not have; runAsNonRoot for a container that
/// would be root. kUnavailable: the host's accounts cannot be looked up now.
Result<PodUser> UserOf(const json::object& pod_spec, const json::object& container,
                       const JobAccounts& accounts);

/// The users of all containers of a pod, each once, main containers first.
struct PodUsers {
  std::vector<PodUser> all;
  std::int64_t fs_group = -1;
  bool any_foreign() const;
  /// The one user of every container; null if they differ.
  const PodUser* only() const { return all.size() == 1 ? &all.front() : nullptr; }
};
Result<PodUsers> UsersOf(const json::object& pod_spec, const JobAccounts& accounts);

/// Rights of a directory that the containers write to: their one user's alone; if they differ the
/// fsGroup's; else open to all, as in Kubernetes.
struct DirectoryRights {
  std::uint32_t mode = 0777;
  std::int64_t uid = -1, gid = -1;
};
DirectoryRights RightsOfShared(const PodUsers& users);

}  // namespace muster::local
