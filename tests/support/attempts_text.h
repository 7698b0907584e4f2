// AttemptsText: the flavors that a search looked at, in the words of Kueue's events.
#pragma once

#include <string>

#include "schedd/core/plan/assignment.h"

namespace muster::core {

inline const char* AttemptModeText(FlavorMode mode) {
  switch (mode) {
    case FlavorMode::kFit:
      return "Fit";
    case FlavorMode::kPreempt:
      return "Preempt";
    case FlavorMode::kNoFit:
      break;
  }
  return "NoFit";
}

inline const char* OutlookText(PreemptionOutlook::Possibility possibility) {
  switch (possibility) {
    case PreemptionOutlook::Possibility::kPreempt:
      return "Preempt";
    case PreemptionOutlook::Possibility::kReclaim:
      return "Reclaim";
    case PreemptionOutlook::Possibility::kNoCandidates:
      break;
  }
  return "NoCandidates";
}

inline std::string AttemptText(const FlavorAttempt& attempt) {
  std::string text = attempt.flavor + "(";
  text += attempt.preemption ? std::string("preemptionMode=") + OutlookText(*attempt.preemption)
                             : AttemptModeText(attempt.mode);
  if (attempt.borrowing_level > 0) text += ";borrow=" + std::to_string(attempt.borrowing_level);
  for (const auto& reason : attempt.reasons) text += ";" + reason;
  return text + ")";
}

/// "main: spot(NoFit;borrow=1;reason) | ...": what was considered (rule A33); "" if nothing but
/// fits without borrowing.
inline std::string AttemptsText(const Assignment& assignment) {
  std::string text;
  for (const auto& pod_set : assignment.pod_sets) {
    std::string attempts;
    for (const auto& attempt : pod_set.attempts) {
      if (attempt.mode == FlavorMode::kFit && attempt.borrowing_level == 0) continue;
      if (!attempts.empty()) attempts += ", ";
      attempts += AttemptText(attempt);
    }
    if (attempts.empty()) continue;
    if (!text.empty()) text += " | ";
    text += pod_set.name + ": " + attempts;
  }
  return text;
}

}  // namespace muster::core
