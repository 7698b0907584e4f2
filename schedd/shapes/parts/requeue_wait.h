// The annotation muster.io/requeue-wait of a ClusterQueue: how long a job of the queue that was
// requeued waits before it is tried again. It is read from the stored manifest when a job is
// requeued, which is rare, so that no decision needs a field for it.
#pragma once

#include <cstdint>

#include "schedd/model/queues.h"
#include "schedd/shapes/parts/field.h"

namespace muster::shapes {

/// In milliseconds; limits::kRequeueWaitMs if absent. "0s" means that the job does not wait.
std::int64_t ReadRequeueWaitMs(const Field& annotations);
/// The same for a stored ClusterQueue; null counts as a ClusterQueue without the annotation.
std::int64_t RequeueWaitMs(const StoredObject* cluster_queue);

}  // namespace muster::shapes
