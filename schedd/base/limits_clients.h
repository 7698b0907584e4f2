// Bounds of what a command keeps of a server's answer: the server may be another one than the user
// believes. Include schedd/base/limits.h.
#pragma once

#include <cstddef>

namespace muster::limits {

// One answer that is kept as a whole. Long lists are read page by page or while they arrive; a page
// of a thousand objects of the usual size is some megabytes, and 256 objects of kManifestBytes fit.
inline constexpr std::size_t kAnswerBytes = 256 << 20;
// One event of a stream, which is less than a kilobyte.
inline constexpr std::size_t kEventBytes = 1 << 20;

}  // namespace muster::limits
