// How well a flavor serves a request, and which of two serves better (rule A30; KEP-582). Plain
// values.
#pragma once

#include <cstdint>
#include <limits>

#include "schedd/core/plan/assignment.h"
#include "schedd/model/queues.h"

namespace muster::core {

/// What quota says of a flavor; the order is from worst to best.
enum class Grade : std::uint8_t {
  kNoFit,         // never, or not under the limits that hold now
  kNoCandidates,  // others use its quota and none of them may be evicted
  kPreempt,       // evictions in its own queue would make room
  kReclaim,       // evictions in other queues alone would make room
  kFit,
};

FlavorMode ModeOf(Grade grade);

struct FlavorScore {
  Grade grade = Grade::kNoFit;
  std::int32_t level = std::numeric_limits<std::int32_t>::max();  // of borrowing
  bool operator==(const FlavorScore&) const = default;
};

/// True if `a` is to be taken rather than `b`. kNoFit is worst whatever the preference,
/// kNoCandidates next to it.
bool Better(const FlavorScore& a, const FlavorScore& b, FungibilityPreference preference);

/// True if the queue's fungibility lets the search end at such a flavor.
bool MayStop(const FlavorScore& score, const ClusterQueue& queue);

/// The more and the less severe of two reasons for not fitting: NoMatchingFlavor > ExceedsMaxQuota
/// > WaitingForQuota > TopologyPlacementFailed > none.
Reason MoreSevere(Reason a, Reason b);
Reason LessSevere(Reason a, Reason b);

}  // namespace muster::core
