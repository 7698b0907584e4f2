// Bounds of the lease: how long a leader may be silent, and how often a daemon that waits for the
// lead looks. docs/rules/leadership.md has the rules.
#pragma once

#include <cstdint>

namespace muster::limits {

// How long the lease of a silent leader lasts (--lease-ttl): several heartbeats, and longer than a
// disk that stalls.
inline constexpr std::int64_t kLeaseTtlMs = 5'000;
// Below a second one slow flush of the database ends a lease; above a minute nobody would call it
// a standby.
inline constexpr std::int64_t kLeaseTtlMinMs = 1'000;
inline constexpr std::int64_t kLeaseTtlMaxMs = 60'000;
// How often a waiting daemon looks at the lease: a tenth of the shortest lease, so that looking
// adds little to a takeover, and at most a short query a quarter of a second.
inline constexpr std::int64_t kLeaseLookMinMs = 100;
inline constexpr std::int64_t kLeaseLookMaxMs = 250;
// A daemon that has just taken the lead keeps its lease by itself while it reads the database, for
// at most this long: the recovery of a million jobs takes a minute. One that has failed to read it
// for so long leaves the lead to others.
inline constexpr std::int64_t kRecoveryKeepsLeaseMs = 120'000;
// A waiting daemon reads its copy anew after this rest, or after as many times as long as the last
// read took, so that it costs the database and itself a fifth of a core at most.
inline constexpr std::int64_t kCopyRestMs = 500;
inline constexpr std::int64_t kCopyRestTimes = 4;

/// How long a daemon that stops waits for its lease to be given up. Without an answer the lease
/// ends by itself.
inline constexpr std::int64_t kReleaseWithinMs = 1'000;

// How far numbers go on above the last known ones when a promoted standby of the database is led in
// for the first time. Without a synchronous standby it may lack what its primary committed in the
// seconds before its end: more events, jobs and take-overs than such seconds have.
inline constexpr std::int64_t kFailoverSkipsEvents = 1'000'000;
inline constexpr std::int64_t kFailoverSkipsJobs = 10'000;
inline constexpr std::int64_t kFailoverSkipsEpochs = 100;

}  // namespace muster::limits
