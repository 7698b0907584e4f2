// FixedAccounts: a name service whose answers a test chooses.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "api/auth/accounts.h"

namespace muster::test {

/// Counts how often it is asked. Thread-safe.
class FixedAccounts final : public auth::AccountSource {
 public:
  Result<std::optional<auth::Account>> ByUid(std::uint32_t uid) override {
    const std::lock_guard lock(mutex_);
    ++asked;
    if (away) return Unavailable("the name service does not answer");
    const auto found = accounts_.find(uid);
    if (found == accounts_.end()) return std::optional<auth::Account>();
    return std::optional<auth::Account>(found->second);
  }
  /// While nobody is asking.
  void Change(const std::function<void(std::map<std::uint32_t, auth::Account>*)>& change) {
    const std::lock_guard lock(mutex_);
    change(&accounts_);
  }
  std::atomic<bool> away{false};
  std::atomic<int> asked{0};

 private:
  std::mutex mutex_;
  std::map<std::uint32_t, auth::Account> accounts_ = {{0, {"root", {"root"}}},
                                                      {1000, {"ada", {"ada", "physics"}}},
                                                      {1001, {"eve", {"eve", "system:masters"}}}};
};

}  // namespace muster::test
