// Bounds of the connection between musterd and muster-launcher. Both ends include this header by
// itself, because nothing else needs it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace muster::limits {

// One message: a job of kManifestBytes with dozens of ConfigMaps and Secrets of that size. A larger
// job is refused before it is sent.
inline constexpr std::size_t kLauncherMessageBytes = 64 << 20;
// Messages that wait for a peer that does not read. Beyond it the connection is ended, and the
// daemon lists the members after the next one.
inline constexpr std::size_t kLauncherWaitingBytes = 128 << 20;
// Calls of one connection without an answer: as many as the local backend takes at once.
inline constexpr std::size_t kLauncherOpenCalls = 65'536;
// Attempts in one part of the answer to List: about half a megabyte.
inline constexpr int kLauncherListPart = 1000;
// Threads that read pods and logs, and questions that wait for them.
inline constexpr int kLauncherReaders = 4;
inline constexpr std::size_t kLauncherReadsWaiting = 256;
// How long a question about pods or a log waits for its answer: a log is read from a local disk. It
// is longer than limits::kMemberStallMs, so that a launcher that is stopped is noticed.
inline constexpr std::int64_t kLauncherReadWithinMs = 10'000;
// How long the other calls wait for their answers before the connection is given up: the launcher's
// one thread may delete a large directory first. A removal has no such bound, because it is
// answered when the pods have had their grace period.
inline constexpr std::int64_t kLauncherAnswerWithinMs = 60'000;
// How long connecting, and the first answer after it, may take: less than a stop of the daemon may.
inline constexpr std::int64_t kLauncherGreetWithinMs = 5000;
// The pause before muster-launcher is connected to again, doubled up to the second number.
inline constexpr std::int64_t kLauncherRetryMs = 100, kLauncherRetryMostMs = 2000;

}  // namespace muster::limits
