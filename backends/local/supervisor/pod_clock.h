// The supervisor's two clocks. It is a program of its own at the edge of Muster, so it reads the
// kernel's.
#pragma once

#include <cstdint>

namespace muster::local {

std::int64_t MonotonicMs();  // for deadlines
std::int64_t WallMicros();   // for stamps, since 1970
}  // namespace muster::local
