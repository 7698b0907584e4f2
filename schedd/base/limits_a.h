// Bounds of waiting for the database.
#pragma once

#include <cstddef>
#include <cstdint>

namespace muster::limits {

// What writes may wait before /readyz says 503: longer than any healthy commit, and with the heartbeat below ten
// seconds.
inline constexpr std::int64_t kAcknowledgeWithinMs = 5'000;
// A daemon with nothing to write commits a heartbeat as often, so that it knows whether it could: one small flush.
inline constexpr std::int64_t kHeartbeatMs = 2'000;
// The writer's wait for one answer. A stalled disk may take seconds, and giving up costs a recovery.
inline constexpr std::int64_t kAnswerWithinMs = 8'000;
// From sending a commit to calling its outcome unknown: a client has its answer within fifteen seconds.
inline constexpr std::int64_t kResolveMs = 12'000;
// One read, its wait for a connection included; indexed reads of a page take milliseconds.
inline constexpr std::int64_t kReadWithinMs = 5'000;
// One page of a recovery: 20,000 rows from a cold disk.
inline constexpr std::int64_t kLoadPageWithinMs = 60'000;
// Readers that got no answer in time are not tried again before this; then by one read at a time, which waits no
// longer than this.
inline constexpr std::int64_t kReadersRestMs = 2'000;
// All connections busy and no read ended for so long: further readers are refused at once.
inline constexpr std::int64_t kReadersStalledMs = 500;
// Threads that may wait for a connection then; with the connections fewer than the REST pool has threads.
inline constexpr std::size_t kStalledReaders = 2;
// REST handlers that may block: the read connections, those that may wait for one, and two that nothing keeps.
inline constexpr int kRestPoolThreads = 8;
// One migration: a new index on a million rows takes a minute.
inline constexpr std::int64_t kMigrateWithinMs = 1'800'000;
// After SIGTERM the database has so long to answer what is under way.
inline constexpr std::int64_t kStopDatabaseMs = 3'000;

}  // namespace muster::limits
