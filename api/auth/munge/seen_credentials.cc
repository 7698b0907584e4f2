#include "api/auth/munge/seen_credentials.h"

#include "schedd/base/limits.h"

namespace muster::auth {

// Ends are kept a minute longer than munged says: its clock may have been set back meanwhile.
bool SeenCredentials::Take(const std::string& digest, std::int64_t expires_s, std::int64_t now_s) {
  constexpr std::int64_t kSlackS = 60;
  const MutexLock lock(mutex_);
  while (!by_end_.empty() &&
         (by_end_.begin()->first + kSlackS < now_s || by_end_.size() >= limits::kMungeRemembered)) {
    seen_.erase(by_end_.begin()->second);
    by_end_.erase(by_end_.begin());
  }
  const auto [at, first] = seen_.insert(digest);
  if (first) by_end_.emplace(expires_s, at);
  return first;
}

}  // namespace muster::auth
