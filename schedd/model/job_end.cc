#include "schedd/model/job_end.h"

namespace muster {

Reason ReasonOfJobEnd(std::string_view end_reason) {
  if (end_reason == "BackoffLimitExceeded" || end_reason == "FailedIndexes" ||
      end_reason == "MaxFailedIndexesExceeded") {
    return Reason::kBackoffLimitExceeded;
  }
  if (end_reason == "DeadlineExceeded") return Reason::kDeadlineExceeded;
  if (end_reason == "PodFailurePolicy") return Reason::kPodFailurePolicy;
  return Reason::kFailed;
}

}  // namespace muster
