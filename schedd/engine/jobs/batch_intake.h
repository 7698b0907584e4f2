// What a new batch script waits for before its queue: set in its record when it is taken, before it
// is written. On the engine thread only.
#pragma once

#include "schedd/engine/jobs/dependencies.h"
#include "schedd/model/config.h"

namespace muster {

/// Judges dependencies (rule B31), the time of --begin (rule B32) and the limits of the partition
/// (rule B29). No effect on jobs that are no batch scripts. `today`: by the host's clock.
void TakeBatchGates(const ConfigView& config, Dependencies& dependencies, JobRecord* job,
                    WallTime today);

}  // namespace muster
