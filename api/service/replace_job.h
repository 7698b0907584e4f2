// Replacing a job's manifest under its name, as PUT and `muster apply` do. The size of an elastic
// job may change and admission gates may be removed; nothing else.
#pragma once

#include "schedd/shapes/kinds/shape.h"
#include "schedd/store/store.h"
#include "schedd/world/command.h"

namespace muster::api {

/// The command that makes `job` what `parsed`, a new manifest under its name, says; an empty
/// command (IsEmpty) if it is that already. kInvalidArgument names the first field that cannot
/// change. Reads the store (blocking).
Result<ReplaceJobCommand> PlanReplacement(Store& store, const JobRecord& job,
                                          const shapes::ParsedJob& parsed);

/// The command for those differences between `now` and `wanted`, two versions of the job's own
/// object, that concern its size and gates. They are removed from `wanted`, so that the caller can
/// look at the rest. The command is empty for another kind's view of the job, such as its Workload.
Result<ReplaceJobCommand> TakeReplacement(const JobRecord& job, const json::value& now,
                                          json::value* wanted);

/// True if the command asks for nothing.
inline bool IsEmpty(const ReplaceJobCommand& command) {
  return !command.size && !command.admission_gated_by;
}

}  // namespace muster::api
