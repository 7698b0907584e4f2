// A bucket that is full again says nothing that a new one would not, so it may be forgotten: users
// who pause cost no memory. If a shard is full of users who do not pause, the one of a few that has
// been quiet longest goes; it starts with a full bucket when it comes back, which costs one burst.
#include "api/auth/rate_limiter.h"

#include <algorithm>
#include <cmath>

#include "api/auth/rbac_authorizer.h"
#include "schedd/base/time.h"

namespace muster::auth {
namespace {

// A full shard is searched for users that pause at most this often.
constexpr std::int64_t kSweepNs = kNanosPerSecond;
// Parts of a request that sums of waits may lose.
constexpr double kRounding = 1e-6;
// Users among which the one to forget is chosen.
constexpr int kSampledUsers = 8;

// "1000", or "0.5".
std::string ShownRate(double rate) {
  std::string text = std::to_string(rate);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace

double RateLimiter::TokensAt(const Bucket& bucket, Monotonic now) const {
  const double seconds =
      static_cast<double>(now - bucket.filled) / static_cast<double>(kNanosPerSecond);
  return std::min(limits_.burst, bucket.tokens + std::max(0.0, seconds) * limits_.per_second);
}

void RateLimiter::MakeRoom(Shard* shard, Monotonic now) const {
  if (shard->buckets.size() < std::max<std::size_t>(1, limits_.users / kShards)) return;
  if (now - shard->swept >= kSweepNs) {
    shard->swept = now;
    if (std::erase_if(shard->buckets, [&](const auto& entry) {
          return TokensAt(entry.second, now) >= limits_.burst;
        }) > 0) {
      return;
    }
  }
  auto quiet = shard->buckets.begin();
  auto at = quiet;
  for (int i = 1; i < kSampledUsers && ++at != shard->buckets.end(); ++i) {
    if (at->second.filled < quiet->second.filled) quiet = at;
  }
  shard->buckets.erase(quiet);
}

Status RateLimiter::Take(const Principal& who, double cost) {
  if (limits_.per_second <= 0 || IsMaster(who)) return Done{};
  const Monotonic now = clock_.Now();
  Shard& shard = shards_[Hash()(who.user) % kShards];
  double tokens = 0;
  {
    const MutexLock lock(shard.mutex);
    auto found = shard.buckets.find(std::string_view(who.user));
    if (found == shard.buckets.end()) {
      MakeRoom(&shard, now);
      found = shard.buckets.emplace(who.user, Bucket{limits_.burst, now}).first;
    }
    tokens = TokensAt(found->second, now);
    const bool allowed = tokens >= 1 - kRounding;
    // Another thread may have looked at the clock later and come first: no time counts twice.
    found->second = {allowed ? tokens - cost : tokens, std::max(now, found->second.filled)};
    if (allowed) return Done{};
  }
  const double wait_ms = std::ceil((1 - tokens) / limits_.per_second * 1000);
  return Overloaded("user \"" + who.user + "\" sends more than " + ShownRate(limits_.per_second) +
                        " requests a second (limits.requests-per-second-per-user, burst " +
                        ShownRate(limits_.burst) + ")",
                    static_cast<std::int64_t>(std::min(wait_ms, 3'600'000.0)));
}

std::size_t RateLimiter::size() const {
  std::size_t users = 0;
  for (const Shard& shard : shards_) {
    const MutexLock lock(shard.mutex);
    users += shard.buckets.size();
  }
  return users;
}

}  // namespace muster::auth
