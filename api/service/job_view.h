// The job view (rule C1): how a job looks as JSON, in REST answers and in `muster -o json`. Pure
// functions, thread-safe.
//
// Every key of the job view is always present: an unknown value is "" (text), null (times,
// exitCode) or empty.
#pragma once

#include <bitset>
#include <string>
#include <vector>

#include "api/service/batch_view.h"
#include "schedd/base/result.h"
#include "schedd/model/job.h"
#include "schedd/text/json.h"

namespace muster::api {

/// The time before which the scheduler does not try a waiting job; unset if it may try at any time.
WallTime RequeueAt(const JobRecord& job);

/// The job view of rule C1, plus `displayName`, `apiVersion`, `priorityClass`, `batch` (a script's
/// options and what has become of it, null for other shapes), `timeLimitSeconds` (0: none),
/// `exitSignal`, `requeueAt` (RequeueAt; null if unset), `nodeList` (the job's hosts as a host
/// list), `requeues` and `stopping` (its attempt is being ended).
json::object JobViewJson(const JobRecord& job);
/// Appends the job view as text without building a JSON value first; for long lists.
void AppendJobView(const JobRecord& job, std::string* out);
/// The members of the job view that an answer carries.
struct JobMembers {
  std::bitset<31> view;  // bit i stands for the i-th one
  BatchMembers batch;    // of a `batch` that `view` does not name

  static JobMembers All() { return {std::bitset<31>().set(), {}}; }
};
/// A name is that of a member, or "batch.NAME" for one member of `batch`, or "batch.brief"
/// (BriefBatchMembers); a `batch` that is made of
/// such names leaves out what is empty (AppendBatch). kInvalidArgument on `fields`: `names` is
/// empty, or one of them is not a member of the job view.
Result<JobMembers> JobMembersOf(const std::vector<std::string>& names);
/// The same with these members only, in the order of the view.
void AppendJobView(const JobRecord& job, const JobMembers& members, std::string* out);

}  // namespace muster::api
