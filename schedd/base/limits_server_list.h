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
// How long a server of a list has to answer the question whether it is there, before anything else
// is asked of it: a healthy one takes milliseconds, with a new connection, TLS and a far host a few
// hundred. If no server answers in that time, each of them has kServerThereMs.
inline constexpr std::int64_t kServerAnswersMs = 1'000;
// A server that has answered something so lately is not asked that question again.
inline constexpr std::int64_t kServerFreshMs = 5'000;
// A server that did not answer is asked last for so many seconds: a command in half a minute waits
// for a server that stays away, and one that is back is asked first again soon.
inline constexpr std::int64_t kServerAwayS = 30;
// The file that says which ones these are: kServers addresses of some 200 bytes.
inline constexpr std::int64_t kAwayFileBytes = 8 << 10;
// After so long without a word in a stream, or before the answer of an only server to a read, the
// server is asked whether it is there, and has kServerThereMs to say so: together as long as
// Slurm's commands wait (slurm.conf, MessageTimeout).
inline constexpr std::int64_t kSilentMs = 5'000;
inline constexpr std::int64_t kServerThereMs = 5'000;
// Redirects that one request follows: a leader may change while it is looked for.
inline constexpr int kRedirects = 4;
// An answer that is so many seconds old is told to be: a standby's copy of 100,000 jobs may be
// eight.
inline constexpr int kToldAgeS = 10;

}  // namespace muster::limits
