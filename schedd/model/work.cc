#include "schedd/model/work.h"

namespace muster {

std::string_view ManifestResultName(ManifestResult result) {
  switch (result) {
    case ManifestResult::kPending:
      return "Pending";
    case ManifestResult::kApplied:
      return "Applied";
    case ManifestResult::kApplyFailed:
      return "ManifestApplyFailed";
    case ManifestResult::kFailedToTakeOver:
      return "FailedToTakeOver";
    case ManifestResult::kNotTakenOver:
      return "NotTakenOver";
    case ManifestResult::kFoundDrifts:
      return "FoundDrifts";
    case ManifestResult::kFoundDriftsInDegradedMode:
      return "FoundDriftsInDegradedMode";
    case ManifestResult::kFoundDiff:
      return "FoundDiff";
    case ManifestResult::kFoundDiffInDegradedMode:
      return "FoundDiffInDegradedMode";
    case ManifestResult::kNoDiffFound:
      return "NoDiffFound";
    case ManifestResult::kFailedToReportDiff:
      return "FailedToReportDiff";
  }
  return "";
}

}  // namespace muster
