// What the audit trail says of a change beside its verb and its object. Pure.
#pragma once

#include <string>

#include "schedd/model/queues.h"

namespace muster {

/// The quotas that differ, as "FLAVOR/RESOURCE nominal 8 -> 12, borrowingLimit none -> 4; ...";
/// "" if none does. Null: the queue is not there on that side.
std::string QuotaChanges(const ClusterQueue* before, const ClusterQueue* after);

}  // namespace muster
