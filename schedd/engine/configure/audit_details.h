// Details that an audit row has beside its verb and object. Pure.
#pragma once

#include <string>

#include "schedd/model/queues.h"

namespace muster {

/// The quotas that differ, as "FLAVOR/RESOURCE nominal 8 -> 12, borrowingLimit none -> 4; ..."; ""
/// if none does. Null: the queue does not exist on that side.
std::string QuotaChanges(const ClusterQueue* before, const ClusterQueue* after);

}  // namespace muster
