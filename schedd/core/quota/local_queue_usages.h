// LocalQueueUsages: the decayed usage of LocalQueues, by which usage-based queues order their heads
// and searches order victims. Plain values; `admission_fair_sharing.h` computes them.
#pragma once

#include <map>
#include <string>
#include <utility>

namespace muster::core {

/// (namespace, name) of a LocalQueue.
using LocalQueueKey = std::pair<std::string, std::string>;

/// Decayed usage by LocalQueue, only of those whose ClusterQueue admits by usage (rule A42).
using LocalQueueUsages = std::map<LocalQueueKey, double>;

}  // namespace muster::core
