// The clock of deadlines.
#pragma once

#include <cstdint>

namespace muster::client {

/// Monotonic milliseconds, the scale of deadlines.
std::int64_t NowMs();

}  // namespace muster::client
