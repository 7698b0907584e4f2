// Bounds of the wall time that the daemon measures with (SteadyClock, rule T2).
#pragma once

#include <cstdint>

namespace muster::limits {

// By which part of the time that passes it may run fast or slow until it agrees with the host's
// clock again: chrony's largest rate (maxslewrate 83333 ppm). A step of an hour is made up for in
// 12 hours, and a duration that is measured meanwhile is off by a twelfth at most.
inline constexpr std::int64_t kClockCatchUpPart = 12;
// A difference that is larger is taken over at once: no time zone mistaken for another is a day
// off, and beyond that wrong dates do more harm than a wait that ends early.
inline constexpr std::int64_t kClockCatchUpMaxMs = 86'400'000;

}  // namespace muster::limits
