// RateLimiter: how many requests a second each user may send (rule U74): a token bucket per user.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "api/auth/principal.h"
#include "schedd/base/clock.h"
#include "schedd/base/limits.h"
#include "schedd/base/mutex.h"
#include "schedd/base/result.h"

namespace muster::auth {

struct RateLimits {
  double per_second = limits::kRequestsPerS;  // 0: no limit
  double burst = limits::kRequestBurst;       // at least 1
  std::size_t users = limits::kRateUsers;     // that are remembered
};

/// Thread-safe: users are spread over shards, each with a mutex that is held for one look-up.
class RateLimiter {
 public:
  /// `clock` must outlive it.
  RateLimiter(const Clock& clock, RateLimits limits) : clock_(clock), limits_(limits) {}

  /// Takes `cost` requests from the user's bucket. kResourceExhausted with retry_after_ms if it has
  /// less than one left; then nothing is taken. A cost above what is left is taken as a debt, so
  /// that a batch larger than the burst passes once and the user waits after it.
  Status Take(const Principal& who, double cost = 1);
  /// Users that are remembered; for tests.
  std::size_t size() const;

 private:
  struct Bucket {
    double tokens = 0;
    Monotonic filled{};  // when `tokens` was right
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  struct alignas(64) Shard {
    mutable Mutex mutex;
    std::unordered_map<std::string, Bucket, Hash, std::equal_to<>> buckets MUSTER_GUARDED_BY(mutex);
    Monotonic swept MUSTER_GUARDED_BY(mutex){};
  };
  static constexpr std::size_t kShards = 16;

  double TokensAt(const Bucket& bucket, Monotonic now) const;
  void MakeRoom(Shard* shard, Monotonic now) const MUSTER_REQUIRES(shard->mutex);

  const Clock& clock_;
  const RateLimits limits_;
  std::array<Shard, kShards> shards_;
};

}  // namespace muster::auth
