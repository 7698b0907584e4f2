// Names of ClusterQueues, in order.
#pragma once

#include <set>
#include <string>

namespace muster {

using QueueNames = std::set<std::string>;

}  // namespace muster
