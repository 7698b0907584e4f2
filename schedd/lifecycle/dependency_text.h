// How dependencies and ranges of array tasks are written, in Slurm's words. Pure functions.
#pragma once

#include <string>

#include "schedd/model/batch.h"

namespace muster {

/// "afterok:7(unfulfilled),afterany:8_*(failed)"; parts of which one is enough are joined by "?".
/// "" if there are none.
std::string DependencyText(const BatchState& state);
/// "0-3,7,10-20:5"; "" if there are none.
std::string TaskRangesText(const TaskRanges& ranges);

}  // namespace muster
