#include "api/auth/jwt/verified_tokens.h"

#include "schedd/base/limits.h"

namespace muster::auth {

VerifiedTokens::EntryPtr VerifiedTokens::Find(const std::string& digest, WallTime now) const {
  EntryPtr found;
  {
    const MutexLock lock(mutex_);
    const auto at = entries_.find(digest);
    if (at != entries_.end()) found = at->second;
  }
  const bool good =
      found != nullptr && now < found->principal.expires && found->source->Keys() == found->keys;
  return good ? found : nullptr;
}

void VerifiedTokens::Remember(std::string digest, Entry entry) {
  auto shared = std::make_shared<const Entry>(std::move(entry));
  const MutexLock lock(mutex_);
  if (entries_.size() >= limits::kJwtRemembered) entries_.clear();
  entries_.insert_or_assign(std::move(digest), std::move(shared));
}

}  // namespace muster::auth
