// What Muster calls the ends that a batch/v1 Job's Failed condition names. Pure.
#pragma once

#include <string_view>

#include "schedd/model/reason.h"

namespace muster {

/// The closest reason of ours: of "BackoffLimitExceeded", "DeadlineExceeded", ...; kFailed of what
/// it does not know.
Reason ReasonOfJobEnd(std::string_view end_reason);

}  // namespace muster
