// The text of --array (rule B15). Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "schedd/base/result.h"
#include "schedd/model/task_ranges.h"

namespace muster::shapes {

/// What --array asks for.
struct ArraySpec {
  TaskRanges tasks;
  std::int32_t throttle = 0;  // %N: how many tasks may run at once; 0: any number
};

/// "0-15", "1,3,5", "0-15:4", "0-6,9-12:3%2". Indexes go from 0 to kArrayIndexMax; their number is
/// not bounded, and an array of any size costs the number of its ranges. Parts may overlap and be
/// in any order. The error of a malformed text is Slurm's: "Invalid job array specification".
Result<ArraySpec> ParseArraySpec(std::string_view spec);

}  // namespace muster::shapes
