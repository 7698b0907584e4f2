// The name under which a job appears as a Workload of Kueue. Pure.
#pragma once

#include <string>

#include "schedd/model/job.h"

namespace muster::api {

/// KIND-NAME-HASH, as Kueue generates it. The hash covers the uid, so a Job and a JobSet of one
/// name have two Workloads, and a new job under the name of an ended one has another Workload. A
/// bare Workload has the name that its user gave it.
std::string WorkloadNameOf(const JobRecord& job);

/// The name of the job that a Workload of this name would belong to, if the job has this shape; ""
/// if no job of the shape can have such a Workload. The result is wrong for a name that was cut.
std::string JobNameIn(const std::string& workload_name, ShapeKind shape);

}  // namespace muster::api
