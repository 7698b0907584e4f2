// VerifiedTokens: tokens whose signature was found good, so that a client that sends one with each
// request costs one signature and not one per request (rule U56).
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "api/auth/jwt/jwks_source.h"
#include "api/auth/principal.h"
#include "schedd/base/mutex.h"

namespace muster::auth {

/// Thread-safe.
class VerifiedTokens {
 public:
  /// What a token was found to be. `keys` are those that its signature was checked with.
  struct Entry {
    Principal principal;
    const JwksSource* source = nullptr;
    KeySetPtr keys;
  };
  using EntryPtr = std::shared_ptr<const Entry>;

  /// Null unless the token was remembered, has not ended, and its issuer's keys are still the same
  /// set: after each fetch every token is checked again.
  EntryPtr Find(const std::string& digest, WallTime now) const;
  /// `digest` is the token's SHA-256. Forgets all others once limits::kJwtRemembered are there.
  void Remember(std::string digest, Entry entry);

 private:
  mutable Mutex mutex_;
  std::unordered_map<std::string, EntryPtr> entries_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::auth
