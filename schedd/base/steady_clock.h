// SteadyClock: the wall time that a daemon stamps and measures with. It begins at the host's wall
// clock and advances with the monotonic clock, so that a step of the host's clock ends no wait;
// docs/rules/time.md has the rule and says what goes by which clock.
#pragma once

#include "schedd/base/clock.h"
#include "schedd/base/mutex.h"

namespace muster {

/// WallNow() never goes back, and runs at most a twelfth (limits::kClockCatchUpPart) faster or
/// slower than Now() until it agrees with the host's clock again. A difference of more than
/// limits::kClockCatchUpMaxMs is taken over at once, in either direction. Thread-safe.
class SteadyClock final : public Clock {
 public:
  /// `host`: its WallNow() may step at any time. It must outlive this clock.
  explicit SteadyClock(const Clock& host);
  Monotonic Now() const override { return host_.Now(); }
  WallTime WallNow() const override;
  WallTime CalendarNow() const override { return host_.CalendarNow(); }
  /// Goes on from `known`, a time that an earlier daemon has stamped, if it is still to come: the
  /// host's clock was set back meanwhile. No effect if it is too far away to be made up for.
  void NotBefore(WallTime known);

 private:
  std::int64_t AdvancedNs() const MUSTER_REQUIRES(mutex_);

  const Clock& host_;
  mutable Mutex mutex_;
  // The last answer in nanoseconds since 1970, and when it was given.
  mutable std::int64_t wall_ns_ MUSTER_GUARDED_BY(mutex_);
  mutable Monotonic at_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster
