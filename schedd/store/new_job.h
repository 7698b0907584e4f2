// The checks that every store makes on a job before it accepts it.
#pragma once

#include "schedd/base/result.h"
#include "schedd/store/store.h"

namespace muster {

/// kInvalidArgument unless the job has an id and a uid and its state is Pending or Held.
Status CheckNewJob(const NewJob& job);

}  // namespace muster
