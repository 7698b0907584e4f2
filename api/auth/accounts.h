// Accounts: the users and groups of this host, as its name service (NSS) tells them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "api/auth/principal.h"
#include "schedd/base/clock.h"
#include "schedd/base/mutex.h"
#include "schedd/base/result.h"

namespace muster::auth {

/// One account. Groups include the primary one.
struct Account {
  std::string name;  // "" if the uid has no name
  std::vector<std::string> groups;
};
/// Shared by all requests of the account.
using AccountPtr = std::shared_ptr<const Account>;

/// The user and the groups of an account that Accounts gives; its uid as text is the user without a
/// name. Never system:masters. `method` and `credential` are the caller's to set.
Principal PrincipalOfAccount(const Account& account, std::uint32_t uid);

/// Where accounts come from; tests bring their own. Thread-safe, may block.
class AccountSource {
 public:
  virtual ~AccountSource() = default;
  /// nullopt: the uid has no account. Error: the name service does not answer.
  virtual Result<std::optional<Account>> ByUid(std::uint32_t uid) = 0;
};

/// passwd(5), group(5) and whatever nsswitch.conf(5) names. A group without a name is left out.
std::unique_ptr<AccountSource> SystemAccounts();

/// Remembers what the source said, at most limits::kAccounts of it, without names that begin with
/// "system:", which no name service may give, and each group once. What is older than
/// limits::kAccountForMs is still returned, up to limits::kAccountStaleMs, and a thread of its own
/// asks again: only about an account that is not known does the caller ask, and wait. The source is
/// never asked under a lock. Thread-safe.
class Accounts {
 public:
  /// `clock` must outlive it. The thread begins with the first account that is asked about again.
  Accounts(std::unique_ptr<AccountSource> source, const Clock& clock);
  /// Ends the thread; waits for the question that it asks.
  ~Accounts();
  Accounts(const Accounts&) = delete;
  Accounts& operator=(const Accounts&) = delete;

  /// The account, never null; without a name, and without groups, if the uid has none. Error:
  /// kUnavailable, the name service does not answer and nothing is known.
  Result<AccountPtr> Find(std::uint32_t uid);
  /// What is known of it, however old, or null; the thread asks again if that is nothing, or old.
  /// Never waits for the source.
  AccountPtr Recall(std::uint32_t uid);
  /// Calls `then` as soon as Find returns at once, or the source has not answered: now, on this
  /// thread, or later on the one that asks. `then` must not block; it is dropped when this ends.
  void WhenKnown(std::uint32_t uid, std::function<void()> then);
  /// Whether Find would return at once.
  bool Known(std::uint32_t uid) const;

 private:
  struct Entry {
    AccountPtr account;
    Monotonic asked;
  };
  /// What is known and at most this old, or null; the thread asks again if need be.
  AccountPtr Take(std::uint32_t uid, std::int64_t max_age_ms) MUSTER_REQUIRES(mutex_);
  /// False if it will not be asked about.
  bool AskLater(std::uint32_t uid) MUSTER_REQUIRES(mutex_);
  void Remember(std::uint32_t uid, AccountPtr account);
  void ForgetOldest() MUSTER_REQUIRES(mutex_);
  /// Asks the source, and remembers what it says.
  Result<AccountPtr> Ask(std::uint32_t uid);
  void Loop();

  const std::unique_ptr<AccountSource> source_;
  const Clock& clock_;
  mutable Mutex mutex_;
  CondVar wake_;
  std::map<std::uint32_t, Entry> known_ MUSTER_GUARDED_BY(mutex_);
  std::deque<std::uint32_t> queue_ MUSTER_GUARDED_BY(mutex_);  // whom the thread is to ask about
  // Those, and the one that it asks about.
  std::set<std::uint32_t> to_be_asked_ MUSTER_GUARDED_BY(mutex_);
  // Of WhenKnown.
  std::map<std::uint32_t, std::vector<std::function<void()>>> waiting_ MUSTER_GUARDED_BY(mutex_);
  bool stopping_ MUSTER_GUARDED_BY(mutex_) = false;
  std::thread thread_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::auth
