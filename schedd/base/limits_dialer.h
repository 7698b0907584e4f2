// Bounds of connecting to the database (schedd/store/pg/dialer.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace muster::limits {

// How long the writer waits for a connection before it begins another try beside the one that is
// under way: a healthy server answers in milliseconds, one under load in tenths of a second, and
// the engine waits with it.
inline constexpr std::int64_t kDialMs = 400;
// Tries under way at once; more than begin in the two seconds that libpq gives each of three hosts.
inline constexpr std::size_t kDials = 8;

}  // namespace muster::limits
