// KeyCache: which keys of an issuer count at a time, and when they are fetched again (rule U54).
//
// Pure but for what it remembers; times are parameters. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>

#include "api/auth/jwt/key_set.h"
#include "schedd/base/time.h"

namespace muster::auth {

class KeyCache {
 public:
  /// The keys to check tokens with; null before the first fetch that brought some, and
  /// limits::kKeysStaleS after the last one.
  KeySetPtr Current(Monotonic now) const;
  /// When the next fetch begins unless a request asks for one before.
  Monotonic DueAt() const { return due_; }
  /// Whether a request for a key that is not there may cause a fetch.
  bool MayAsk(Monotonic now) const;

  /// A fetch has begun; Took or Failed follows.
  void Began(Monotonic now);
  /// The keys are used from now on, in place of the earlier ones: a key that is gone is not
  /// accepted any more. `max_age_s` as in FetchedDocument.
  void Took(KeySetPtr keys, std::optional<std::int64_t> max_age_s, Monotonic now);
  /// The earlier keys stay.
  void Failed(Monotonic now);

 private:
  KeySetPtr keys_;
  Monotonic took_, due_;
  std::optional<Monotonic> began_;
  int failures_ = 0;  // in a row
};

}  // namespace muster::auth
