// The rule is the same for a manifest that asks for a user and one that does not: the submitter's
// account decides, and only root chooses freely. A daemon that is not root cannot change its user,
// so it takes jobs of its own user alone.
#include "backends/local/pods/job_accounts.h"

#include <algorithm>

namespace muster::local {
namespace {

bool Contains(const std::vector<std::int64_t>& all, std::int64_t one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

// The largest number is what system calls take for "leave it as it is".
bool IsUser(std::int64_t uid) { return uid >= 0 && uid < INT64_C(0xFFFFFFFF); }

// The user of a container that does not ask for one; -1: the job has none here.
std::int64_t UsualUser(const JobAccounts& accounts) {
  if (!accounts.submitter) return accounts.job_account;
  if (*accounts.submitter == 0 && !accounts.root_jobs) return accounts.job_account;
  return *accounts.submitter;
}

// Of a daemon that is not root.
Result<std::int64_t> OwnUserOnly(const JobAccounts& accounts, std::optional<std::int64_t> wanted) {
  const std::string own = std::to_string(accounts.own_uid);
  if (!accounts.submitter) {
    return InvalidArgument(
        "a job whose submitter has no account on this host needs a musterd that runs as root: this "
        "one runs as user " +
        own +
        " and runs that user's jobs only (a job that was accepted by a version before accounts "
        "were "
        "kept has none: submit it again)");
  }
  if (static_cast<std::int64_t>(*accounts.submitter) != accounts.own_uid) {
    return InvalidArgument("a job of user " + std::to_string(*accounts.submitter) +
                           " needs a musterd that runs as root: this one runs as user " + own +
                           " and runs that user's jobs only");
  }
  if (wanted && *wanted != accounts.own_uid) {
    return InvalidArgument("securityContext.runAsUser " + std::to_string(*wanted) +
                           " needs a musterd that runs as root");
  }
  return accounts.own_uid;
}

// Whether a daemon that is root may run the job as the user that its manifest asks for.
Status CheckWanted(const JobAccounts& accounts, std::int64_t wanted) {
  const std::string asked = "securityContext.runAsUser " + std::to_string(wanted) + ": ";
  const bool by_root = accounts.submitter == 0U;
  if (!IsUser(wanted)) return InvalidArgument(asked + "is no user");
  if (wanted == 0 && !(by_root && accounts.root_jobs)) {
    return InvalidArgument(asked +
                           "root is the user of jobs that root submitted by a local socket, on "
                           "members with root-jobs=submitter, and of no others");
  }
  const std::int64_t usual = UsualUser(accounts);
  if (by_root || wanted == usual) return Done{};
  return InvalidArgument(asked + "a job runs as its submitter" +
                         (usual < 0 ? std::string() : ", here user " + std::to_string(usual)) +
                         "; only root may choose another user");
}

}  // namespace

HostAccount UnknownAccount(std::int64_t uid) {
  HostAccount unknown;
  unknown.uid = uid;
  unknown.gid = kNoGroup;
  return unknown;
}

Result<HostAccount> JobAccounts::Account(std::int64_t uid) const {
  if (account_of) return account_of(uid);
  return UnknownAccount(uid);
}

Result<std::int64_t> JobUser(const JobAccounts& accounts, std::optional<std::int64_t> wanted) {
  if (accounts.own_uid != 0) return OwnUserOnly(accounts, wanted);
  if (wanted) {
    if (Status allowed = CheckWanted(accounts, *wanted); !allowed.ok()) return allowed.error();
  }
  const std::int64_t user = wanted ? *wanted : UsualUser(accounts);
  if (user < 0) {
    return InvalidArgument(
        "the job's submitter has no account on this host, and the member has none for such jobs "
        "(job-account=USER of --local-cluster)");
  }
  if (!IsUser(user))
    return InvalidArgument("the job's account, " + std::to_string(user) + ", is no user");
  if (Contains(accounts.reserved, user)) {
    return InvalidArgument((wanted ? "securityContext.runAsUser " : "user ") +
                           std::to_string(user) +
                           ": files of this daemon belong to that user, so no job runs as it");
  }
  return user;
}

Status CheckGroup(const JobAccounts& accounts, const HostAccount& account, const char* key,
                  std::int64_t gid) {
  if (gid < 0 || gid >= INT64_C(0xFFFFFFFF)) {
    return InvalidArgument(std::string("securityContext.") + key + " " + std::to_string(gid) +
                           " is no group");
  }
  if (accounts.submitter == 0U || gid == account.gid || Contains(account.groups, gid))
    return Done{};
  return InvalidArgument(std::string("securityContext.") + key + " " + std::to_string(gid) +
                         ": user " + std::to_string(account.uid) +
                         " of this host is not in that group");
}

}  // namespace muster::local
