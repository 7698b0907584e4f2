// StoreHealth: whether a write can be made durable now, as the store's writer sees it. The writer
// notes what it waits for; /readyz asks from any thread, without a lock that the writer holds while
// it waits.
//
// Thread-safe. Owned by whoever opens the store; outlives it.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>

namespace muster {

class StoreHealth {
 public:
  using Clock = std::chrono::steady_clock;

  /// The writer waits for the answer to what was sent at `since`.
  void Waits(Clock::time_point since) {
    const std::lock_guard lock(mutex_);
    waits_since_ = since;
  }
  /// It waits for no answer.
  void Rests() {
    const std::lock_guard lock(mutex_);
    waits_since_.reset();
  }
  /// The session that writes is gone, and why.
  void Lost(std::string why) {
    const std::lock_guard lock(mutex_);
    lost_ = std::move(why);
  }
  /// It leads, by a write that is durable.
  void Leads() {
    const std::lock_guard lock(mutex_);
    lost_.clear();
  }

  /// What keeps the database from making a write durable at `now`; empty: nothing that is known of.
  /// A wait counts when it has lasted for `within`.
  std::string Problem(Clock::time_point now, std::chrono::milliseconds within) const {
    const std::lock_guard lock(mutex_);
    if (!lost_.empty()) return lost_;
    if (!waits_since_ || now - *waits_since_ < within) return "";
    const auto waited = std::chrono::duration_cast<std::chrono::seconds>(now - *waits_since_);
    return "the database has not made the oldest change durable for " +
           std::to_string(waited.count()) + " s";
  }

 private:
  mutable std::mutex mutex_;
  std::optional<Clock::time_point> waits_since_;
  std::string lost_;
};

}  // namespace muster
