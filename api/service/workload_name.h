// The name under which a job appears as a Workload of Kueue. Pure.
#pragma once

#include <string>

#include "schedd/model/job.h"

namespace muster::api {

/// KIND-NAME-HASH, as Kueue generates it: a Job and a JobSet of one name have two Workloads, and
/// one that takes an ended job's name has another. A bare Workload has the name that its user gave
/// it.
std::string WorkloadNameOf(const JobRecord& job);

/// The names that such a name may stand for: of a job of this shape. "" if it cannot be one.
std::string JobNameIn(const std::string& workload_name, ShapeKind shape);

}  // namespace muster::api
