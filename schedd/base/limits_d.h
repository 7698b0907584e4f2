// Bounds of what one request or one client may take; folded into limits.h later.
#pragma once

#include <cstddef>
#include <cstdint>

namespace muster::limits {

// --- documents of a request
// ---------------------------------------------------------------------------------------
// Keys count too. 1,000 manifests of 4 KiB have up to 450,000; reading the most costs 45 MB.
inline constexpr std::size_t kRequestValues = 500'000;
// Text that aliases and anchors repeat: no more than a request may bring itself.
inline constexpr std::size_t kRequestCopiedBytes = 8 << 20;
// Two of the largest requests at once; a third is asked to come again.
inline constexpr std::size_t kValuesInReading = 2 * kRequestValues;
// Smaller documents are not counted against the others: a request of this size takes 250 KB.
inline constexpr std::size_t kValuesUncounted = 4096;

// --- connections
// ---------------------------------------------------------------------------------------
// A peer that connects and says nothing is let go after this, when connections become scarce.
inline constexpr std::int64_t kIdleUnderPressureS = 10;
// Descriptors that no client may take: the database, members, log files, pods' output.
inline constexpr int kReservedDescriptors = 256;

// --- gRPC (cpp-stack.md 4: 1.51 predates the hardening of 2023)
// ---------------------------------------------------------------------------------------
// Each costs some 50 KB with its two sockets.
inline constexpr std::size_t kGrpcConnections = 512;
// Calls open at once over all connections; each costs some 20 KB.
inline constexpr std::size_t kGrpcStreams = 4096;
// Of one connection: cancelled calls, as nghttp2 bounds them, three times as many a second.
inline constexpr double kStreamResetBurst = 1000, kStreamResetsPerS = 100;
// Of all connections together; beyond it whoever resets is read more slowly.
inline constexpr double kAllResetBurst = 2000, kAllResetsPerS = 1000;
// Of one connection: SETTINGS, and frames of kinds that HTTP/2 does not know.
inline constexpr double kSettingsBurst = 100, kSettingsPerS = 10;
// Of one connection: pings; clients that measure bandwidth ping at every round trip for a while.
inline constexpr double kPingBurst = 1000, kPingsPerS = 1000;
// Of one connection: frames that carry nothing and end nothing (empty DATA, PRIORITY).
inline constexpr double kEmptyFrameBurst = 10'000, kEmptyFramesPerS = 1000;
// One block of headers on the wire, compressed, and the frames it may be cut into.
inline constexpr std::size_t kHeaderBlockBytes = 32 << 10;
inline constexpr int kHeaderBlockFrames = 16;
// A client says that it speaks HTTP/2 at once.
inline constexpr std::int64_t kGrpcPrefaceMs = 10'000;
// Nothing leaves for that long: the client does not read.
inline constexpr std::int64_t kGrpcStallMs = 30'000;
// No call is open for that long.
inline constexpr std::int64_t kGrpcIdleMs = 300'000;
// An event of a watch is not taken for that long: the watch ends, its client may resume.
inline constexpr std::int64_t kWatchStallMs = 30'000;

}  // namespace muster::limits
