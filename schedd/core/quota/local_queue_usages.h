// LocalQueueUsages: what LocalQueues have used lately, as victims and heads are ordered by it.
// Plain values; `admission_fair_sharing.h` makes them.
#pragma once

#include <map>
#include <string>
#include <utility>

namespace muster::core {

/// (namespace, name) of a LocalQueue.
using LocalQueueKey = std::pair<std::string, std::string>;

/// Decayed usage of LocalQueues, only of those whose ClusterQueue admits by usage (rule A42).
using LocalQueueUsages = std::map<LocalQueueKey, double>;

}  // namespace muster::core
