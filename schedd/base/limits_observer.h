// Bounds of what the daemon asks its database about the database itself.
#pragma once

#include <cstdint>

namespace muster::limits {

// How often the database is asked what a waiting commit waits for, and how long a commit has waited
// by then: longer than a healthy one, and well before /readyz says 503.
inline constexpr std::int64_t kObserveEveryMs = 1'000;
// How often settings and standbys are read: an administrator who changes them sees it at once, and
// it costs one short query.
inline constexpr std::int64_t kObserveFactsEveryMs = 5'000;
// How often it is tried whether a database that has refused new jobs would take them again: /readyz
// says 503 until then. Each trial that fails leaves an error in the database's log.
inline constexpr std::int64_t kTrialEveryMs = 2'000;

}  // namespace muster::limits
