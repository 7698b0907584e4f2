// The score of a flavor for a request, and which of two scores is better (rule A30; KEP-582). Plain
// values.
#pragma once

#include <cstdint>
#include <limits>

#include "schedd/core/plan/assignment.h"
#include "schedd/model/queues.h"

namespace muster::core {

/// How quota can serve a request; ordered from worst to best.
enum class Grade : std::uint8_t {
  kNoFit,         // not even with evictions
  kNoCandidates,  // other holders use the quota, and none of them may be evicted
  kPreempt,       // evictions in its own queue would make room
  kReclaim,       // evictions in other queues alone would make room
  kFit,
};

/// The mode that users see; the three middle grades are kPreempt.
FlavorMode ModeOf(Grade grade);

struct FlavorScore {
  Grade grade = Grade::kNoFit;
  std::int32_t level = std::numeric_limits<std::int32_t>::max();  // of borrowing
  bool operator==(const FlavorScore&) const = default;
};

/// True if `a` is taken rather than `b`. kNoFit is worst under both preferences, kNoCandidates
/// next.
bool Better(const FlavorScore& a, const FlavorScore& b, FungibilityPreference preference);

/// True if the queue's flavorFungibility lets the search end at a flavor of this score (rule A31).
bool MayStop(const FlavorScore& score, const ClusterQueue& queue);

/// The more severe of two reasons for not fitting: NoMatchingFlavor > ExceedsMaxQuota >
/// WaitingForQuota > TopologyPlacementFailed > none (rule A33).
Reason MoreSevere(Reason a, Reason b);
/// The less severe one.
Reason LessSevere(Reason a, Reason b);

}  // namespace muster::core
