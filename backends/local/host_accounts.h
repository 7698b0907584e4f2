// The accounts of this host, from passwd and NSS. The functions are thread-safe; all may wait for a
// name service.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "backends/local/pods/job_accounts.h"
#include "schedd/base/clock.h"

namespace muster::local {

/// The account of a user; of one that the host does not know, UnknownAccount. A home that is no
/// directory reads "/". kUnavailable: the name service did not answer, and the groups are not
/// known.
Result<HostAccount> AccountOfUser(std::int64_t uid);
/// Remembers accounts for limits::kAccountForMs, because a pod asks for its user's several times
/// and a job may have thousands of pods. What was not answered is asked again. Not thread-safe.
class AccountCache {
 public:
  using Look = std::function<Result<HostAccount>(std::int64_t uid)>;
  explicit AccountCache(Look look = AccountOfUser) : look_(std::move(look)) {}
  Result<HostAccount> Of(std::int64_t uid, Monotonic now);

 private:
  struct Known {
    HostAccount account;
    Monotonic until;
  };
  const Look look_;
  std::map<std::int64_t, Known> known_;
};

/// The user of a name, or of a decimal number; nullopt if there is none. kUnavailable as above.
Result<std::optional<std::int64_t>> UserNamed(const std::string& name);

/// How one member chooses the users of its jobs (LocalCluster::job_account and root_jobs,
/// resolved).
struct MemberAccounts {
  std::int64_t job_account = -1;
  bool root_jobs = false;
};
/// Errors (kInvalidArgument): an account that does not exist, or that jobs must not have; either
/// setting where the daemon, `own_uid`, is not root. kUnavailable: the name service did not answer.
/// The default account `nobody` may be missing or
/// reserved: then the member has none.
Result<MemberAccounts> ResolveAccounts(const std::string& job_account,
                                       std::optional<bool> root_jobs, std::int64_t own_uid,
                                       const std::vector<std::int64_t>& reserved);

}  // namespace muster::local
