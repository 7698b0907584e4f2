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
  /// For all ordering, deadlines and durations within this process.
  virtual Monotonic Now() const = 0;
  /// For times that are stamped into rows, and for durations since such a time. In the daemon it
  /// does not step with the host's clock (steady_clock.h).
  virtual WallTime WallNow() const = 0;
  /// The host's wall clock, with its steps: for absolute times that people, issuers of credentials
  /// and certificates name (--begin, --deadline, an expiry), and for the audit trail. Never for a
  /// duration.
  virtual WallTime CalendarNow() const { return WallNow(); }
};

/// By how many microseconds the host's wall clock is ahead of WallNow(); negative: behind. What is
/// stamped by programs that read the kernel's clock is moved by it.
inline std::int64_t CalendarAheadUs(const Clock& clock) {
  return SaturatingSub(clock.CalendarNow().us, clock.WallNow().us);
}

using TimerId = std::uint64_t;

/// Thread-safe. `fire` runs once, on the service's own thread, and must only post.
class TimerService {
 public:
  virtual ~TimerService() = default;
  virtual TimerId At(Monotonic when, std::function<void()> fire) = 0;
  virtual void Cancel(TimerId id) = 0;
};

}  // namespace muster
