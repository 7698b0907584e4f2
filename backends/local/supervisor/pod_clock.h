// The supervisor's two clocks. The supervisor is a program of its own, so it reads the kernel's
// clocks.
#pragma once

#include <cstdint>

namespace muster::local {

std::int64_t MonotonicMs();  // for deadlines
std::int64_t WallMicros();   // for stamps, since 1970
}  // namespace muster::local
