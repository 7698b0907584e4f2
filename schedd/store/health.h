// StoreHealth: whether a write can be made durable now, as the writer thread of the store sees it.
// The writer records here that it waits for an answer and that its session is gone; /readyz asks
// from any thread. The lock is held for a moment only, never during a wait for the database, so the
// question is answered at once even when the database hangs.
//
// Thread-safe. Owned by the caller that opens the store; outlives the store.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "schedd/base/mutex.h"

namespace muster {

class StoreHealth {
 public:
  using Clock = std::chrono::steady_clock;

  /// The writer waits for the answer to a group that was sent at `since`.
  void Waits(Clock::time_point since) {
    const MutexLock lock(mutex_);
    waits_since_ = since;
  }
  /// The writer waits for no answer.
  void Rests() {
    const MutexLock lock(mutex_);
    waits_since_.reset();
  }
  /// The session that writes is gone; `why` is a sentence for the administrator.
  void Lost(std::string why) {
    const MutexLock lock(mutex_);
    lost_ = std::move(why);
  }
  /// The writer's session leads: its new epoch is durable.
  void Leads() {
    const MutexLock lock(mutex_);
    lost_.clear();
  }

  /// The writer's session is open; another daemon leads.
  void Answers() { Leads(); }

  /// Why the database cannot make a write durable at `now`; "" if no reason is known. A wait counts
  /// as a problem when it has lasted for `within`.
  std::string Problem(Clock::time_point now, std::chrono::milliseconds within) const {
    const MutexLock lock(mutex_);
    if (!lost_.empty()) return lost_;
    if (!waits_since_ || now - *waits_since_ < within) return "";
    const auto waited = std::chrono::duration_cast<std::chrono::seconds>(now - *waits_since_);
    return "the database has not made the oldest change durable for " +
           std::to_string(waited.count()) + " s";
  }

 private:
  mutable Mutex mutex_;
  std::optional<Clock::time_point> waits_since_ MUSTER_GUARDED_BY(mutex_);
  std::string lost_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster
