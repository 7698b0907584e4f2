// Replacing a job's manifest under its name, as PUT and `muster apply` do.
#pragma once

#include "schedd/shapes/kinds/shape.h"
#include "schedd/store/store.h"
#include "schedd/world/command.h"

namespace muster::api {

/// What the engine is asked for when `parsed` comes under the name of `job`; a command that asks
/// for nothing if the job is what the manifest says. kInvalidArgument naming the first field that
/// cannot change. Reads the store (blocking).
Result<ReplaceJobCommand> PlanReplacement(Store& store, const JobRecord& job,
                                          const shapes::ParsedJob& parsed);

/// What an edit of its object from `now` to `wanted` changes of a job's size and gates; `wanted` is
/// left without these changes. Nothing for another kind's view of it, such as its Workload.
Result<ReplaceJobCommand> TakeReplacement(const JobRecord& job, const json::value& now,
                                          json::value* wanted);

/// True if the command asks for nothing.
inline bool IsEmpty(const ReplaceJobCommand& command) {
  return !command.size && !command.admission_gated_by;
}

}  // namespace muster::api
