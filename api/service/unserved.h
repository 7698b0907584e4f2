// Refuses, by field, what the core could decide but no controller or command of this daemon carries
// out, so that nothing is accepted and then waits for ever.
#pragma once

#include "schedd/shapes/config/queue_objects.h"
#include "schedd/shapes/kinds/shape.h"

namespace muster::api {

/// kInvalidArgument names each such field of a configuration object.
Status CheckServed(const shapes::ParsedObject& object);
/// The same for a job. `queue` is the ClusterQueue that it would wait in; null if there is none.
Status CheckServed(const shapes::ParsedJob& job, const AdmissionSettings& settings,
                   const ClusterQueue* queue);

}  // namespace muster::api
