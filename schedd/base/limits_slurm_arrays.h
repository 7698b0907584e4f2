// Bounds of job arrays, each with its reason.
#pragma once

#include <cstddef>

namespace muster::limits {

// Ranges that one array's indexes may fall into: the array's row, which is written whenever tasks
// start, stays below a megabyte.
inline constexpr std::size_t kArrayRanges = 16'384;
// Waiting tasks of one array that are in its queue's order at once, each as an entry of its own. A
// cycle may start them all, and the next ones take their places before the next cycle, so the rate
// of starts is that of single jobs; an entry costs about a kilobyte.
inline constexpr std::size_t kArrayWindow = 64;

}  // namespace muster::limits
