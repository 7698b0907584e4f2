// The reasons by which Muster records the ends that a batch/v1 Job's Failed condition names. Pure.
#pragma once

#include <string_view>

#include "schedd/model/reason.h"

namespace muster {

/// The closest of Muster's reasons to "BackoffLimitExceeded", "DeadlineExceeded" and so on; kFailed
/// for a reason that is not known here.
Reason ReasonOfJobEnd(std::string_view end_reason);

}  // namespace muster
