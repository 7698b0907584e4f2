// Each answer continues the one before by the time that has passed on the monotonic clock, and by a
// part of the difference to the host's clock that grows with that time. It is kept in nanoseconds,
// because a caller may ask more often than once a microsecond.
#include "schedd/base/steady_clock.h"

#include <algorithm>

#include "schedd/base/limits_clock.h"

namespace muster {
namespace {

constexpr std::int64_t kNanosPerMicro = kNanosPerSecond / kMicrosPerSecond;
constexpr std::int64_t kAtOnceNs = MillisToNanos(limits::kClockCatchUpMaxMs);

}  // namespace

SteadyClock::SteadyClock(const Clock& host)
    : host_(host), wall_ns_(MicrosToNanos(host.CalendarNow().us)), at_(host.Now()) {}

WallTime SteadyClock::WallNow() const {
  MutexLock lock(mutex_);
  return {AdvancedNs() / kNanosPerMicro};
}

void SteadyClock::NotBefore(WallTime known) {
  MutexLock lock(mutex_);
  const std::int64_t known_ns = MicrosToNanos(known.us);
  const std::int64_t ahead_ns = SaturatingSub(known_ns, MicrosToNanos(host_.CalendarNow().us));
  if (known_ns > AdvancedNs() && ahead_ns <= kAtOnceNs) wall_ns_ = known_ns;
}

std::int64_t SteadyClock::AdvancedNs() const {
  const Monotonic now = host_.Now();
  const std::int64_t passed_ns = now - at_;
  const std::int64_t even_ns = SaturatingAdd(wall_ns_, passed_ns);
  const std::int64_t behind_ns = SaturatingSub(MicrosToNanos(host_.CalendarNow().us), even_ns);
  const std::int64_t most_ns = passed_ns / limits::kClockCatchUpPart;
  const bool far = behind_ns > kAtOnceNs || behind_ns < -kAtOnceNs;
  wall_ns_ = even_ns + (far ? behind_ns : std::clamp(behind_ns, -most_ns, most_ns));
  at_ = now;
  return wall_ns_;
}

}  // namespace muster
