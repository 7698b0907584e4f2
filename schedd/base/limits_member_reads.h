// Bounds of reads that wait for a member cluster: its pods, events and logs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace muster::limits {

// Threads of REST that wait for members. They mostly sleep: the log of a container that prints
// nothing is waited for five seconds.
inline constexpr int kRestMemberThreads = 16;
// The same of gRPC, by which few read logs.
inline constexpr int kGrpcMemberThreads = 8;
// Calls that wait for one of these threads; further ones are refused.
inline constexpr std::size_t kGrpcMemberReadsWaiting = 256;
// A read that has waited this long says that its member does not answer; further ones are refused.
// Longer than the wait for the first bytes of a log, which may have none.
inline constexpr std::int64_t kMemberStallMs = 8'000;
// The pause after such a read before the member is asked again, by one read at a time.
inline constexpr std::int64_t kMemberRestMs = 1'000;

}  // namespace muster::limits
