// FakeClock and ManualTimers: time that moves only when a test moves it.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include "schedd/base/clock.h"
#include "schedd/base/random.h"

namespace muster::test {

/// Both clocks start at 2026-01-01T00:00:00Z and move together, except for jumps of the wall clock.
/// Thread-safe.
class FakeClock final : public Clock {
 public:
  Monotonic Now() const override { return {ns_.load()}; }
  WallTime WallNow() const override {
    return {1'767'225'600LL * kMicrosPerSecond + ns_.load() / 1000 + jumped_us_.load()};
  }
  void Advance(std::int64_t ms) { ns_ += ms * kNanosPerMilli; }
  /// An administrator sets the host's clock.
  void Jump(std::int64_t ms) { jumped_us_ += ms * 1000; }

 private:
  std::atomic<std::int64_t> jumped_us_{0};
  std::atomic<std::int64_t> ns_{kNanosPerSecond};
};

/// Timers that fire inside FireDue, in time order, then in the order in which they were set.
/// Thread-safe.
class ManualTimers final : public TimerService {
 public:
  explicit ManualTimers(const Clock& clock) : clock_(clock) {}

  TimerId At(Monotonic when, std::function<void()> fire) override;
  void Cancel(TimerId id) override;
  /// Fires the timers that are due, also those that fired timers set and that are due too. Returns
  /// how many fired.
  std::size_t FireDue();
  std::size_t waiting() const;
  /// The earliest deadline; false if there is none.
  bool Next(Monotonic* when) const;

 private:
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::map<std::pair<Monotonic, TimerId>, std::function<void()>> timers_;
  TimerId last_ = 0;
};

/// splitmix64. Equal seeds, equal numbers. Thread-safe.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Next() override;
  /// Uniform below `bound` (at least 1).
  std::uint64_t Below(std::uint64_t bound) { return Next() % bound; }
  /// True in `percent` of a hundred calls.
  bool Chance(std::uint64_t percent) { return Below(100) < percent; }

 private:
  std::atomic<std::uint64_t> state_;
};

}  // namespace muster::test
