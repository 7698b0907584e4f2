// Bounds of the answers of the API; to be part of limits.h.
#pragma once

#include <cstddef>

namespace muster::limits {

// Warnings of one manifest: a person reads no more, and each one costs a header line.
inline constexpr std::size_t kManifestWarnings = 16;
// All Warning headers of one answer together: as much as an API server of Kubernetes sends.
inline constexpr std::size_t kWarningHeaderBytes = 4096;

}  // namespace muster::limits
