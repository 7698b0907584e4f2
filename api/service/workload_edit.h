// What a client changed of a job's object, as a command: the differences between the object as it
// is and as it is wanted, checked as Kueue's webhooks check them (rules A9, A49, A58).
//
// Pure functions.
#pragma once

#include "schedd/text/json.h"
#include "schedd/world/command.h"

namespace muster::api {

/// Fills active, priority_class and priority_boost where they differ; false if nothing does.
/// kInvalidArgument for every other difference in labels, annotations and spec, by its path.
Result<bool> ReadJobEdit(const JobRecord& job, const json::value& now, const json::value& wanted,
                         ChangeJobCommand* command);

/// What a controller says in status. Checks that `wanted` does not list stay as they are, and so
/// do the times and retry counts of those that it lists.
struct StatusEdit {
  std::vector<AdmissionCheckStatus> checks;  // those that differ
  std::optional<std::vector<ReclaimablePods>> reclaimable;
};
/// kInvalidArgument for wrong values; kFailedPrecondition for members that Muster alone writes.
Result<StatusEdit> ReadStatusEdit(const JobRecord& job, const json::value& now,
                                  const json::value& wanted);

/// The condition Active in the status of an AdmissionCheck.
Status ReadActivity(const json::value& wanted, SetCheckActiveCommand* command);

/// metadata.resourceVersion; 0 if absent.
Result<std::int64_t> WantedVersion(const json::value& wanted);

}  // namespace muster::api
