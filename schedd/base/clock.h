// Clock and timers as interfaces: production has one real pair (schedd/daemon/real_clock), tests
// and simulation bring virtual ones. Nothing else of Muster may read a clock.
#pragma once

#include <cstdint>
#include <functional>

#include "schedd/base/time.h"

namespace muster {

/// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  /// For all ordering, deadlines and durations.
  virtual Monotonic Now() const = 0;
  /// Only for times that are stamped into rows and shown.
  virtual WallTime WallNow() const = 0;
};

using TimerId = std::uint64_t;

/// Thread-safe. `fire` runs once, on the service's own thread, and must only post.
class TimerService {
 public:
  virtual ~TimerService() = default;
  virtual TimerId At(Monotonic when, std::function<void()> fire) = 0;
  virtual void Cancel(TimerId id) = 0;
};

}  // namespace muster
