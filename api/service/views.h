// Views: how records look as JSON on all interfaces (rule C1). Pure functions, thread-safe. The job
// view is in job_view.h.
#pragma once

#include <string_view>

#include "backends/backend.h"
#include "schedd/model/dispatch.h"
#include "schedd/model/event.h"
#include "schedd/model/job.h"
#include "schedd/text/json.h"

namespace muster::api {

/// "batch/v1" for kJob and so on; "muster.io/v1" for a batch script.
std::string_view ApiVersionOf(ShapeKind shape);

json::object EventJson(const Event& event);
json::object AttemptJson(const AttemptRecord& attempt);
json::object StepJson(const StepRecord& step);
/// "RUNNING", "COMPLETED" ..., as sacct writes them.
std::string_view StepStateName(StepState state);
json::object PodJson(const PodStatus& pod);
json::object MemberEventJson(const MemberEvent& event);
/// metav1.Condition. `lastTransitionTime` has seconds, as Kubernetes writes it.
json::object ConditionJson(const Condition& condition);
/// Resource names to Kubernetes quantities.
json::object ResourcesJson(const ResourceList& resources);
/// An RFC 9457 problem; wrong fields are in `errors[]`.
json::object ProblemJson(const Error& error);
/// metav1.Status, the error object of Kubernetes paths.
json::object StatusJson(const Error& error);

}  // namespace muster::api
