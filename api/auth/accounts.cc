// The name service, and a small memory in front of it: one question may go to a directory server
// and take seconds, and every request of a local user needs the answer.
#include "api/auth/accounts.h"

#include <grp.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "schedd/base/limits.h"
#include "schedd/base/passwd.h"

namespace muster::auth {
namespace {

// An error if the name service does not answer for one of them: a part of the groups is not taken
// for all of them. A group without a name is left out.
Result<std::vector<std::string>> GroupsOf(const std::string& user, gid_t primary) {
  std::vector<gid_t> ids(64);
  int count = static_cast<int>(ids.size());
  while (::getgrouplist(user.c_str(), primary, ids.data(), &count) < 0 &&
         static_cast<int>(ids.size()) < limits::kGroupsOfAccount) {
    ids.resize(static_cast<std::size_t>(
        std::clamp(count, static_cast<int>(ids.size()) * 2, limits::kGroupsOfAccount)));
    count = static_cast<int>(ids.size());
  }
  ids.resize(std::min(ids.size(), static_cast<std::size_t>(std::max(count, 0))));
  std::vector<std::string> names;
  for (const gid_t gid : ids) {
    Result<std::optional<std::string>> name = GroupNameOf(gid);
    if (!name.ok()) return name.error();
    if (*name && !(*name)->empty()) names.push_back(*std::move(*name));
  }
  return names;
}

class NameService final : public AccountSource {
 public:
  Result<std::optional<Account>> ByUid(std::uint32_t uid) override {
    return WithGroups(PasswdByUid(uid));
  }

 private:
  static Result<std::optional<Account>> WithGroups(
      const Result<std::optional<PasswdEntry>>& entry) {
    if (!entry.ok()) return entry.error();
    if (!*entry) return std::optional<Account>();
    Result<std::vector<std::string>> groups = GroupsOf((*entry)->name, (*entry)->gid);
    if (!groups.ok()) return groups.error();
    return std::optional<Account>(Account{(*entry)->name, std::move(groups).value()});
  }
};

// Names that are Muster's and Kubernetes' own give nobody their rights. The order of the groups
// stays.
Account Accepted(Account account) {
  static constexpr std::string_view kSystemPrefix = "system:";
  if (account.name.starts_with(kSystemPrefix)) account.name.clear();
  std::set<std::string> seen;
  std::erase_if(account.groups, [&seen](const std::string& group) {
    return group.starts_with(kSystemPrefix) || !seen.insert(group).second;
  });
  return account;
}

}  // namespace

Principal PrincipalOfAccount(const Account& account, std::uint32_t uid) {
  Principal who;
  who.user = account.name.empty() ? std::to_string(uid) : account.name;
  who.groups = account.groups;
  who.uid = uid;
  return who;
}

std::unique_ptr<AccountSource> SystemAccounts() { return std::make_unique<NameService>(); }

Accounts::Accounts(std::unique_ptr<AccountSource> source, const Clock& clock)
    : source_(std::move(source)), clock_(clock) {}

Accounts::~Accounts() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

// Beyond the bound nothing is lost: whoever asks the next time tries again.
bool Accounts::AskLater(std::uint32_t uid) {
  if (to_be_asked_.contains(uid)) return true;
  if (stopping_ || to_be_asked_.size() >= limits::kAccounts) return false;
  if (!thread_.joinable()) thread_ = std::thread([this] { Loop(); });
  to_be_asked_.insert(uid);
  queue_.push_back(uid);
  wake_.NotifyOne();
  return true;
}

AccountPtr Accounts::Take(std::uint32_t uid, std::int64_t max_age_ms) {
  const auto found = known_.find(uid);
  if (found == known_.end()) return nullptr;
  const std::int64_t age = clock_.Now() - found->second.asked;
  if (age >= MillisToNanos(max_age_ms)) return nullptr;
  if (age >= MillisToNanos(limits::kAccountForMs)) AskLater(uid);
  return found->second.account;
}

AccountPtr Accounts::Recall(std::uint32_t uid) {
  const MutexLock lock(mutex_);
  if (AccountPtr known = Take(uid, limits::kAccountStaleMs)) return known;
  AskLater(uid);
  const auto found = known_.find(uid);
  return found == known_.end() ? nullptr : found->second.account;
}

void Accounts::WhenKnown(std::uint32_t uid, std::function<void()> then) {
  {
    const MutexLock lock(mutex_);
    if (!Take(uid, limits::kAccountStaleMs) && AskLater(uid)) {
      waiting_[uid].push_back(std::move(then));
      return;
    }
  }
  then();
}

bool Accounts::Known(std::uint32_t uid) const {
  const MutexLock lock(mutex_);
  const auto found = known_.find(uid);
  return found != known_.end() &&
         clock_.Now() - found->second.asked < MillisToNanos(limits::kAccountStaleMs);
}

void Accounts::ForgetOldest() {
  const auto oldest = std::min_element(known_.begin(), known_.end(), [](auto& a, auto& b) {
    return a.second.asked < b.second.asked;
  });
  if (oldest != known_.end()) known_.erase(oldest);
}

void Accounts::Remember(std::uint32_t uid, AccountPtr account) {
  const MutexLock lock(mutex_);
  if (known_.size() >= limits::kAccounts && !known_.contains(uid)) ForgetOldest();
  known_[uid] = {std::move(account), clock_.Now()};
}

// A name service that does not answer does not lock out the users that were known: what was known
// stands until it answers.
Result<AccountPtr> Accounts::Ask(std::uint32_t uid) {
  Result<std::optional<Account>> asked = source_->ByUid(uid);
  if (!asked.ok()) {
    const MutexLock lock(mutex_);
    const auto found = known_.find(uid);
    if (found == known_.end()) return asked.error();
    found->second.asked = clock_.Now();
    return found->second.account;
  }
  auto account =
      std::make_shared<const Account>(Accepted(std::move(asked).value().value_or(Account{})));
  Remember(uid, account);
  return AccountPtr(std::move(account));
}

Result<AccountPtr> Accounts::Find(std::uint32_t uid) {
  {
    const MutexLock lock(mutex_);
    if (AccountPtr known = Take(uid, limits::kAccountStaleMs)) return known;
  }
  return Ask(uid);
}

void Accounts::Loop() {
  MutexLock lock(mutex_);
  while (true) {
    wake_.Wait(mutex_, [this]() MUSTER_REQUIRES(mutex_) { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    const std::uint32_t uid = queue_.front();
    queue_.pop_front();
    lock.Unlock();
    static_cast<void>(Ask(uid));
    lock.Lock();
    to_be_asked_.erase(uid);
    const auto waited = waiting_.extract(uid);
    if (waited.empty()) continue;
    lock.Unlock();
    for (const auto& then : waited.mapped()) then();
    lock.Lock();
  }
}

}  // namespace muster::auth
