// Bounds of what one step of the engine reads from the database for dependents (rule B31): nothing
// else happens on the engine's thread meanwhile.
#pragma once

#include <cstddef>

namespace muster::limits {

/// Parents that have left memory, read with one query.
inline constexpr std::size_t kParentsAtOnce = 1000;
/// Queries beside that one: single tasks of arrays that ended long ago, and pages of their records.
inline constexpr int kParentReads = 16;
/// Records in one page of an array.
inline constexpr std::size_t kParentPage = 1000;
/// Pages of an array that ended long ago which are read for after:ID+MINUTES; tasks beyond them
/// count as begun when the last one that was read did.
inline constexpr int kParentPages = 16;

}  // namespace muster::limits
