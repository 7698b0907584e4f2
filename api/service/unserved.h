// What the core can decide and no controller or command of this daemon can carry out: refused at
// the door, by field, so that nothing is accepted and then waits for ever.
#pragma once

#include "schedd/shapes/config/queue_objects.h"
#include "schedd/shapes/kinds/shape.h"

namespace muster::api {

/// kInvalidArgument, naming each such field of a configuration object.
Status CheckServed(const shapes::ParsedObject& object);
/// The same of a job; `queue` is the ClusterQueue that it would wait in, null if there is none.
Status CheckServed(const shapes::ParsedJob& job, const AdmissionSettings& settings,
                   const ClusterQueue* queue);

}  // namespace muster::api
