// Reads what a client changed of a job's object as a command: the differences between the object as
// it is (`now`) and as the client wants it (`wanted`), checked as Kueue's webhooks check them
// (rules A9, A49, A58).
//
// Pure functions.
#pragma once

#include "schedd/text/json.h"
#include "schedd/world/command.h"

namespace muster::api {

/// Fills active, priority_class and priority_boost of `command` where they differ; false if none
/// does. Any other difference in labels, annotations and spec is kInvalidArgument by its path.
Result<bool> ReadJobEdit(const JobRecord& job, const json::value& now, const json::value& wanted,
                         ChangeJobCommand* command);

/// What a controller changed in status. Checks that `wanted` does not list stay as they are, and so
/// do the times and retry counts of those that it lists.
struct StatusEdit {
  std::vector<AdmissionCheckStatus> checks;  // only the differing ones
  std::optional<std::vector<ReclaimablePods>> reclaimable;
};
/// kInvalidArgument for wrong values; kFailedPrecondition for members of status that Muster alone
/// writes.
Result<StatusEdit> ReadStatusEdit(const JobRecord& job, const json::value& now,
                                  const json::value& wanted);

/// Reads the condition Active in the status of an AdmissionCheck into `command`.
Status ReadActivity(const json::value& wanted, SetCheckActiveCommand* command);

/// metadata.resourceVersion of `wanted`; 0 if absent.
Result<std::int64_t> WantedVersion(const json::value& wanted);

}  // namespace muster::api
