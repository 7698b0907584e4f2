// Bounds on what is remembered of the permissions that a member's user lacks.
#pragma once

#include <cstddef>

namespace muster::limits {

// Missing permissions of one member that are kept and asked about again. One keeps new jobs away; a
// sentence with more of them helps nobody, and jobs name namespaces without end.
inline constexpr std::size_t kMissingRights = 16;

}  // namespace muster::limits
