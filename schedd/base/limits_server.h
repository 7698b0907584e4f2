// Bounds of connections: what one peer, or all peers together, may hold open or make the daemon
// read. Include schedd/base/limits.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace muster::limits {

// --- connections
// When connections become scarce, a peer that has connected and said nothing is dropped after this.
inline constexpr std::int64_t kIdleUnderPressureS = 10;
// Descriptors that no client may take: the database, members, log files and pods' output need them.
inline constexpr int kReservedDescriptors = 256;

// --- streams of the REST API
// Followers of events and logs at once.
inline constexpr std::size_t kStreams = 256;
// Unsent bytes of one stream: a slower reader is dropped, because it would stall the others.
inline constexpr std::size_t kStreamBacklogBytes = 200 << 10;
// Followed logs: each takes a connection and a thread. A quarter of kStreams.
inline constexpr std::size_t kFollowedLogs = 64;

// --- gRPC: version 1.51 predates HTTP/2's hardening of 2023
// Each connection costs some 50 KB with its two sockets.
inline constexpr std::size_t kGrpcConnections = 512;
// Calls open at once over all connections; each costs some 20 KB.
inline constexpr std::size_t kGrpcStreams = 4096;
// Cancelled calls of one connection, as nghttp2 bounds them, but three times as many a second.
inline constexpr double kStreamResetBurst = 1000, kStreamResetsPerS = 100;
// Cancelled calls of all connections together; beyond it the connections that cancel are read more
// slowly.
inline constexpr double kAllResetBurst = 2000, kAllResetsPerS = 1000;
// SETTINGS, and frames of kinds that HTTP/2 does not know, of one connection.
inline constexpr double kSettingsBurst = 100, kSettingsPerS = 10;
// Pings of one connection; clients that measure bandwidth ping at every round trip for a while.
inline constexpr double kPingBurst = 1000, kPingsPerS = 1000;
// Frames of one connection that carry nothing and end nothing (empty DATA, PRIORITY).
inline constexpr double kEmptyFrameBurst = 10'000, kEmptyFramesPerS = 1000;
// One block of headers on the wire, compressed, and the frames it may be cut into.
inline constexpr std::size_t kHeaderBlockBytes = 32 << 10;
inline constexpr int kHeaderBlockFrames = 16;
// A new connection must send the HTTP/2 preface within this time; clients send it at once.
inline constexpr std::int64_t kGrpcPrefaceMs = 10'000;
// A connection with bytes to send that sends none for this long is dropped: its client does not
// read.
inline constexpr std::int64_t kGrpcStallMs = 30'000;
// A connection without an open call for this long is dropped.
inline constexpr std::int64_t kGrpcIdleMs = 300'000;
// A watch whose client takes no event for this long ends; the client may resume.
inline constexpr std::int64_t kWatchStallMs = 30'000;

}  // namespace muster::limits
