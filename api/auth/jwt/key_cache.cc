#include "api/auth/jwt/key_cache.h"

#include <algorithm>

#include "schedd/base/limits.h"

namespace muster::auth {

KeySetPtr KeyCache::Current(Monotonic now) const {
  if (keys_ == nullptr || now - took_ >= SecondsToNanos(limits::kKeysStaleS)) return nullptr;
  return keys_;
}

bool KeyCache::MayAsk(Monotonic now) const {
  return !began_ || now - *began_ >= SecondsToNanos(limits::kKeysAskAgainS);
}

void KeyCache::Began(Monotonic now) { began_ = now; }

void KeyCache::Took(KeySetPtr keys, std::optional<std::int64_t> max_age_s, Monotonic now) {
  keys_ = std::move(keys);
  took_ = now;
  failures_ = 0;
  const std::int64_t fresh_s = std::clamp(max_age_s.value_or(limits::kKeysFreshS),
                                          limits::kKeysFreshMinS, limits::kKeysFreshMaxS);
  due_ = now + SecondsToNanos(fresh_s);
}

// 10 s, 20 s, 40 s and so on.
void KeyCache::Failed(Monotonic now) {
  std::int64_t wait_s = limits::kKeysAskAgainS;
  for (int i = 0; i < failures_ && wait_s < limits::kKeysRetryMaxS; ++i) wait_s *= 2;
  ++failures_;
  due_ = now + SecondsToNanos(std::min(wait_s, limits::kKeysRetryMaxS));
}

}  // namespace muster::auth
