// Status of queue objects as Kueue would show it (rules A60, A61), derived from one world view.
//
// Conditions are derived when asked, so their lastTransitionTime is the object's creation. Pure
// functions.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "schedd/text/json.h"
#include "schedd/world/world_view.h"

namespace muster::api {

/// By (flavor, resource).
using Amounts = std::map<std::pair<std::string, std::string>, std::int64_t>;

/// 0 if there is none.
std::int64_t AmountIn(const Amounts& amounts, const std::string& flavor,
                      const std::string& resource);

/// What the jobs of one LocalQueue amount to: those that hold quota, and of them the admitted ones.
struct LocalQueueTotals {
  std::int64_t pending = 0, reserving = 0, admitted = 0;
  Amounts reserved, used;
};
/// Key: (namespace, LocalQueue).
using LocalQueueTable = std::map<std::pair<std::string, std::string>, LocalQueueTotals>;

/// One pass over the view's jobs. `ns` "" counts every namespace.
LocalQueueTable CountLocalQueues(const WorldView& view, const std::string& ns);

/// What jobs hold that are not admitted yet, by ClusterQueue. A pass over the view's jobs if there
/// are any.
std::map<std::string, Amounts> CountUnadmitted(const WorldView& view);

/// `unadmitted`: of this queue.
json::object ClusterQueueStatus(const WorldView& view, const StoredObject& object,
                                const Amounts& unadmitted);
json::object LocalQueueStatus(const WorldView& view, const StoredObject& object,
                              const LocalQueueTotals& totals);
/// Quota of the whole subtree and what is used of it, by flavor and resource.
json::object CohortStatus(const WorldView& view, const StoredObject& object);
json::object MemberClusterStatus(const WorldView& view, const StoredObject& object);

}  // namespace muster::api
