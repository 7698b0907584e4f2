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

// Of all connections that one peer may hold: one part in this many. A peer is an account of this
// host, or an address beyond it; four of them can then fill no server for a fifth.
inline constexpr std::size_t kPeerShare = 4;

// Bytes of half-sent requests that all connections of REST hold together: 32 of the largest size.
inline constexpr std::int64_t kHalfSentBytes = 256 << 20;
// Of these those of one peer: eight requests of the largest size at once, which one client never
// needs, and four peers can fill the rest as little as all connections.
inline constexpr std::int64_t kHalfSentBytesPerPeer = kHalfSentBytes / kPeerShare;

// --- requests of one user (rule U74); members of system:masters are not limited
// A script that submits in a loop sends some hundreds a second; a user at this rate takes a small
// part of what the daemon answers.
inline constexpr double kRequestsPerS = 1000;
// What a user may send at once after a pause: arrays, `squeue` of a whole lab.
inline constexpr double kRequestBurst = 4000;
// Users whose rate is remembered, some 150 bytes each; those that paused are forgotten first.
inline constexpr std::size_t kRateUsers = 65'536;

// --- TLS
// A client that has not finished the handshake by then is dropped; a handshake takes a few round
// trips.
inline constexpr std::int64_t kTlsHandshakeMs = 10'000;
// How often the files of certificates are looked at for changes.
inline constexpr std::int64_t kTlsRefreshS = 3;
// Plain bytes that are encrypted at once: four records, so that a long answer takes few calls of
// send.
inline constexpr std::size_t kTlsPieceBytes = 64 << 10;
// Encrypted bytes of one connection that wait for the client: one piece, and answers of the
// protocol itself. Beyond it the client asks without reading.
inline constexpr std::size_t kTlsWireBytes = 256 << 10;

// --- streams of the REST API
// Followers of events and logs at once.
inline constexpr std::size_t kStreams = 256;
// Of these and of gRPC's watches together by one user; members of system:masters may have all.
inline constexpr std::size_t kStreamsPerUser = kStreams / 4;
// Whether an open stream may go on is asked again this often, so that one whose credential or right
// was revoked ends within 5 s (rule U25).
inline constexpr std::int64_t kAskAgainMs = 2000;
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
// The number that gRPC knew an ended connection by is not used for another client's connection for
// this long: a call of the ended one may still start.
inline constexpr std::int64_t kGrpcNumberRestMs = 30'000;
// A connection without an open call for this long is dropped.
inline constexpr std::int64_t kGrpcIdleMs = 300'000;
// A watch whose client takes no event for this long ends; the client may resume.
inline constexpr std::int64_t kWatchStallMs = 30'000;

// --- audit
// Equal refusals and equal reads within this time are one row, and one more that counts the rest.
inline constexpr std::int64_t kAuditSameMs = 60'000;
// Different refusals of one caller within that time that have rows of their own; one more row says
// how many others there were. A person makes fewer mistakes in a minute, a scan makes more.
inline constexpr std::size_t kAuditRefusalsPerCaller = 60;
// Different confidential reads of one caller within that time; more are refused, because a read
// without its row is not to be had. Who watches every job of a team reads a few hundred logs.
inline constexpr std::size_t kAuditReadsPerCaller = 600;
// Different refusals and reads of all callers within that time: fewer than the engine keeps at once
// (kAuditKept). Beyond it refusals are counted without their callers' names.
inline constexpr std::size_t kAuditDifferent = 4000;

}  // namespace muster::limits
