// JobAccounts: which account of this host a container may run as (rules U60 to U62). Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "schedd/base/result.h"

namespace muster::local {

/// The group of users without an entry in passwd: nobody's, as in the kernel (overflowgid).
inline constexpr std::int64_t kNoGroup = 65534;

/// An account of this host.
struct HostAccount {
  std::int64_t uid = -1, gid = -1;   // gid: the login group
  std::vector<std::int64_t> groups;  // supplementary, as initgroups gives them; without gid
  std::string name, shell;           // "": the user has no entry in passwd
  std::string home = "/";
};
/// Of a user without an entry: no name and no groups, not even the one with the user's number,
/// which may be somebody else's.
HostAccount UnknownAccount(std::int64_t uid);

/// The users among whom an attempt's containers choose. Plain values, but for account_of, which
/// asks the host.
struct JobAccounts {
  std::int64_t own_uid = 0, own_gid = 0;  // of the daemon
  /// DispatchOrder::account.
  std::optional<std::uint32_t> submitter;
  /// The member runs root's jobs as root (root-jobs=submitter).
  bool root_jobs = false;
  /// Of jobs whose submitter has no account here; -1: there is none, such jobs are refused.
  std::int64_t job_account = -1;
  /// Users that no job runs as: those whom files of the daemon belong to.
  std::vector<std::int64_t> reserved;
  /// Empty: every user is an UnknownAccount. kUnavailable: the look-up failed.
  std::function<Result<HostAccount>(std::int64_t uid)> account_of;

  Result<HostAccount> Account(std::int64_t uid) const;
};

/// The user of a container; `wanted`: its securityContext.runAsUser. The daemon's own user is an
/// answer in two cases only: root, for a job of root where the member says so; and the user of a
/// daemon without root, for that user's own jobs. Errors (kInvalidArgument) name
/// securityContext.runAsUser or the submitter.
Result<std::int64_t> JobUser(const JobAccounts& accounts, std::optional<std::int64_t> wanted);

/// Whether a container that runs as `account` may have group `gid`, which securityContext.`key`
/// asks for: root's jobs may have any, others only groups of their account.
Status CheckGroup(const JobAccounts& accounts, const HostAccount& account, const char* key,
                  std::int64_t gid);

}  // namespace muster::local
