// Bounds of what people read: the audit trail and followed logs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace muster::limits {

// One screen's worth to scroll through, if nothing else is asked for.
inline constexpr std::int64_t kAuditPage = 200;
// A row has some hundred bytes: one answer stays within a few megabytes.
inline constexpr std::int64_t kAuditPageMax = 10'000;
// A connection and a thread each, and a quarter of the server's kStreams.
inline constexpr std::size_t kFollowedLogs = 64;

}  // namespace muster::limits
