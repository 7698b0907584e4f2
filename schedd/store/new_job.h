// What every store asks of a job before it accepts it.
#pragma once

#include "schedd/base/result.h"
#include "schedd/store/store.h"

namespace muster {

/// kInvalidArgument unless it has a number and a uid and waits.
Status CheckNewJob(const NewJob& job);

}  // namespace muster
