// Scores of flavors (rule A30; KEP-582).
//
// BorrowingOverPreemption, the default, compares grades first (fit before reclaim before preempt)
// and borrowing levels among equal grades. PreemptionOverBorrowing compares levels first. The
// comment of Kueue's API field describes the two the wrong way round; its code and KEP-582 agree
// with this file.
#include "schedd/core/flavor/flavor_score.h"

namespace muster::core {
namespace {

int Severity(Reason reason) {
  switch (reason) {
    case Reason::kNoMatchingFlavor:
      return 4;
    case Reason::kExceedsMaxQuota:
      return 3;
    case Reason::kWaitingForQuota:
      return 2;
    case Reason::kTopologyPlacementFailed:
      return 1;
    default:
      return 0;
  }
}

}  // namespace

FlavorMode ModeOf(Grade grade) {
  if (grade == Grade::kFit) return FlavorMode::kFit;
  return grade == Grade::kNoFit ? FlavorMode::kNoFit : FlavorMode::kPreempt;
}

bool Better(const FlavorScore& a, const FlavorScore& b, FungibilityPreference preference) {
  if (a.grade == Grade::kNoFit || b.grade == Grade::kNoFit) return a.grade != Grade::kNoFit;
  const bool a_stuck = a.grade == Grade::kNoCandidates;
  const bool b_stuck = b.grade == Grade::kNoCandidates;
  if (a_stuck != b_stuck) return b_stuck;
  const bool level_first = preference == FungibilityPreference::kPreemptionOverBorrowing;
  if (a.level != b.level && (level_first || a.grade == b.grade)) return a.level < b.level;
  return a.grade > b.grade;
}

bool MayStop(const FlavorScore& score, const ClusterQueue& queue) {
  if (score.grade <= Grade::kNoCandidates) return false;
  if (score.grade < Grade::kFit && queue.when_can_preempt == FungibilityPolicy::kTryNextFlavor) {
    return false;
  }
  return score.level == 0 || queue.when_can_borrow == FungibilityPolicy::kMayStopSearch;
}

Reason MoreSevere(Reason a, Reason b) { return Severity(a) >= Severity(b) ? a : b; }
Reason LessSevere(Reason a, Reason b) { return Severity(a) <= Severity(b) ? a : b; }

}  // namespace muster::core
