// Annotation muster.io/requeue-wait of a ClusterQueue: how long a job of it that was requeued waits
// before it is tried again. Read when a job is requeued, which is rare, so that no other decision
// carries it about.
#pragma once

#include <cstdint>

#include "schedd/model/queues.h"
#include "schedd/shapes/parts/field.h"

namespace muster::shapes {

/// In milliseconds; limits::kRequeueWaitMs if absent. "0s": it does not wait.
std::int64_t ReadRequeueWaitMs(const Field& annotations);
/// The same of a ClusterQueue as it is stored; null: absent.
std::int64_t RequeueWaitMs(const StoredObject* cluster_queue);

}  // namespace muster::shapes
