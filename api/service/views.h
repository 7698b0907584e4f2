// Views: how records look as JSON (rule C1). Pure functions, thread-safe.
//
// Every key of the job view is always there: what is not known is "" (text), null (times, exitCode)
// or empty.
#pragma once

#include <bitset>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "schedd/model/dispatch.h"
#include "schedd/model/event.h"
#include "schedd/model/job.h"
#include "schedd/text/json.h"

namespace muster::api {

/// "batch/v1" of kJob and so on; a batch script's is "muster.io/v1".
std::string_view ApiVersionOf(ShapeKind shape);

/// Before which a waiting job is not tried; unset if no time keeps it.
WallTime RequeueAt(const JobRecord& job);

/// The job view of rule C1, plus `displayName`, `apiVersion`, `priorityClass`, `batch` (a
/// script's options, null for other shapes), `timeLimitSeconds` (0: none), `exitSignal` and
/// `requeueAt` (before which a waiting job is not tried; null: no time keeps it).
json::object JobViewJson(const JobRecord& job);
/// Appends the same as text; the fast path of long lists.
void AppendJobView(const JobRecord& job, std::string* out);
/// Which members of the job view an answer carries: bit i stands for the i-th one.
using JobMembers = std::bitset<28>;
/// kInvalidArgument on `fields`: there is no name, or one that is no member of the job view.
Result<JobMembers> JobMembersOf(const std::vector<std::string>& names);
/// The same with these members only, in the view's order.
void AppendJobView(const JobRecord& job, JobMembers members, std::string* out);
json::object EventJson(const Event& event);
json::object AttemptJson(const AttemptRecord& attempt);
json::object PodJson(const PodStatus& pod);
json::object MemberEventJson(const MemberEvent& event);
/// metav1.Condition; `lastTransitionTime` in seconds, as Kubernetes writes it.
json::object ConditionJson(const Condition& condition);
/// Resource names to quantity texts.
json::object ResourcesJson(const ResourceList& resources);
/// RFC 9457; `errors[].field`.
json::object ProblemJson(const Error& error);
/// metav1.Status, for Kubernetes paths.
json::object StatusJson(const Error& error);

}  // namespace muster::api
