// The names by which events, the audit trail and dispatch rows call jobs and objects. Pure.
#pragma once

#include <string>

#include "schedd/model/dispatch.h"
#include "schedd/model/job.h"
#include "schedd/model/queues.h"

namespace muster {

/// "job/NAMESPACE/NAME", as events name it.
std::string ObjectName(const JobRecord& job);
/// "clusterqueue/NAME" or "localqueue/NAMESPACE/NAME".
std::string ObjectName(const StoredObject& object);
/// The key of the job's current attempt (rule D1).
DispatchKey CurrentKey(const JobRecord& job);

}  // namespace muster
