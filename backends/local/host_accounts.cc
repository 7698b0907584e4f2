// Entries of passwd, and groups by getgrouplist: what initgroups would give.
#include "backends/local/host_accounts.h"

#include <grp.h>
#include <sys/types.h>

#include <algorithm>
#include <charconv>

#include "backends/local/process/files.h"
#include "schedd/base/limits.h"
#include "schedd/base/passwd.h"

namespace muster::local {
namespace {

constexpr char kDefaultJobAccount[] = "nobody";
// Room for the groups of one user (the kernel's NGROUPS_MAX).
constexpr int kGroupsMax = 65'536;

std::vector<std::int64_t> GroupsOf(const char* name, gid_t login) {
  int count = 64;
  std::vector<gid_t> found(static_cast<std::size_t>(count));
  while (::getgrouplist(name, login, found.data(), &count) < 0) {
    if (count <= static_cast<int>(found.size())) count = static_cast<int>(found.size()) * 2;
    if (count > kGroupsMax) return {};
    found.resize(static_cast<std::size_t>(count));
  }
  std::vector<std::int64_t> groups;
  for (int i = 0; i < count; ++i) {
    const gid_t group = found[static_cast<std::size_t>(i)];
    if (group != login) groups.push_back(static_cast<std::int64_t>(group));
  }
  return groups;
}

}  // namespace

Result<HostAccount> AccountOfUser(std::int64_t uid) {
  HostAccount account = UnknownAccount(uid);
  const Result<std::optional<PasswdEntry>> entry = PasswdByUid(static_cast<std::uint32_t>(uid));
  if (!entry.ok())
    return Unavailable("user " + std::to_string(uid) +
                       " cannot be looked up on this host: " + entry.error().detail);
  if (!*entry) return account;
  account.gid = (*entry)->gid;
  account.name = (*entry)->name;
  account.shell = (*entry)->shell;
  if (IsDirectory((*entry)->home)) account.home = (*entry)->home;
  account.groups = GroupsOf((*entry)->name.c_str(), (*entry)->gid);
  return account;
}

Result<HostAccount> AccountCache::Of(std::int64_t uid, Monotonic now) {
  const auto found = known_.find(uid);
  if (found != known_.end() && now < found->second.until) return found->second.account;
  Result<HostAccount> account = look_(uid);
  if (!account.ok()) return account;
  if (known_.size() >= limits::kAccounts) known_.clear();
  known_[uid] = {*account, now + MillisToNanos(limits::kAccountForMs)};
  return account;
}

Result<std::optional<std::int64_t>> UserNamed(const std::string& name) {
  Result<std::optional<PasswdEntry>> entry = PasswdByName(name);
  if (entry.ok() && !*entry) {
    std::uint32_t number = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), number);
    if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size())
      return std::optional<std::int64_t>();
    entry = PasswdByUid(number);
  }
  if (!entry.ok())
    return Unavailable("user " + name + " cannot be looked up: " + entry.error().detail);
  return *entry ? std::optional<std::int64_t>((*entry)->uid) : std::nullopt;
}

Result<MemberAccounts> ResolveAccounts(const std::string& job_account,
                                       std::optional<bool> root_jobs, std::int64_t own_uid,
                                       const std::vector<std::int64_t>& reserved) {
  MemberAccounts accounts;
  if (own_uid != 0) {
    if (job_account.empty() && !root_jobs.value_or(false)) return accounts;
    return InvalidArgument(
        "job-account and root-jobs=submitter need a musterd that runs as root: any other runs its "
        "own user's jobs only");
  }
  accounts.root_jobs = root_jobs.value_or(true);
  const std::string name = job_account.empty() ? kDefaultJobAccount : job_account;
  const Result<std::optional<std::int64_t>> named = UserNamed(name);
  if (!named.ok()) return named.error();
  const std::optional<std::int64_t> uid = *named;
  const bool reserved_for_us =
      uid && (*uid == 0 || std::find(reserved.begin(), reserved.end(), *uid) != reserved.end());
  if (uid && !reserved_for_us) {
    accounts.job_account = *uid;
  } else if (!job_account.empty()) {
    return InvalidArgument("job-account: " + name +
                           (uid ? " is an account of this daemon, and no job runs as it"
                                : " is no account of this host"));
  }
  return accounts;
}

}  // namespace muster::local
