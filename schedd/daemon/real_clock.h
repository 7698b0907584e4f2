// The production clock, timers and randomness: the only code outside tests that reads a clock or
// the kernel's random source.
#pragma once

#include <memory>
#include <random>

#include "schedd/base/clock.h"
#include "schedd/base/mutex.h"
#include "schedd/base/random.h"

namespace muster {

/// CLOCK_MONOTONIC and CLOCK_REALTIME. Thread-safe.
class RealClock final : public Clock {
 public:
  Monotonic Now() const override;
  WallTime WallNow() const override;
};

/// One thread that fires timers in order. Thread-safe; the destructor drops timers that have not
/// fired.
class RealTimers final : public TimerService {
 public:
  explicit RealTimers(const Clock& clock);
  ~RealTimers() override;
  TimerId At(Monotonic when, std::function<void()> fire) override;
  void Cancel(TimerId id) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A generator seeded by the kernel. Thread-safe.
class RealRandom final : public Random {
 public:
  RealRandom();
  std::uint64_t Next() override;

 private:
  Mutex mutex_;
  std::mt19937_64 generator_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster
