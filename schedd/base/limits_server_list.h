// Bounds of clients that know several servers of one installation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace muster::limits {

// Servers in one list: a leader and its standbys are two or three.
inline constexpr std::size_t kServers = 16;
// A server that has not begun to answer after this time may be stopped: the next one is asked, if
// the request may be sent twice. A healthy answer begins within milliseconds, a long list in a
// second.
inline constexpr std::int64_t kServerBeginsMs = 10'000;
// A stream that was silent for so long is checked: the server is asked whether it is there, and
// has kServerThereMs to say so.
inline constexpr std::int64_t kSilentStreamMs = 5'000;
inline constexpr std::int64_t kServerThereMs = 5'000;
// Redirects that one request follows: a leader may change while it is looked for.
inline constexpr int kRedirects = 4;

}  // namespace muster::limits
