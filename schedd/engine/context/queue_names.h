// QueueNames: names of ClusterQueues, in name order, so that equal sets are worked off equally.
#pragma once

#include <set>
#include <string>

namespace muster {

using QueueNames = std::set<std::string>;

}  // namespace muster
