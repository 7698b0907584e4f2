// Bounds of what a leader may do without a word from its database.
#pragma once

#include <cstdint>

namespace muster::limits {

// --- the lead
// -----------------------------------------------------------------------------------------
// A commit is answered within some milliseconds, on a loaded disk within half a second; whoever is
// stopped for longer than this wakes up without the lead.
inline constexpr std::int64_t kLeadTermMs = 2000;
// A round trip to the database is tried anew so soon while an order waits for the lead.
inline constexpr std::int64_t kLeadAskedAgainMs = 25;

}  // namespace muster::limits
