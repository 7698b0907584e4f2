// The status of queue objects as Kueue would show it (rules A60, A61), derived from one world view.
//
// Conditions are derived when they are asked for, so their lastTransitionTime is the object's
// creation. Pure functions.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "schedd/text/json.h"
#include "schedd/world/world_view.h"

namespace muster::api {

/// Amounts by (flavor, resource).
using Amounts = std::map<std::pair<std::string, std::string>, std::int64_t>;

/// 0 if `amounts` has no such pair.
std::int64_t AmountIn(const Amounts& amounts, const std::string& flavor,
                      const std::string& resource);

/// Numbers of jobs of one LocalQueue and the quota they hold: jobs that wait, jobs that hold quota
/// (`reserving`), and of the latter those that are admitted.
struct LocalQueueTotals {
  std::int64_t pending = 0, reserving = 0, admitted = 0;
  Amounts reserved, used;
};
/// Key: (namespace, LocalQueue).
using LocalQueueTable = std::map<std::pair<std::string, std::string>, LocalQueueTotals>;

/// Counts in one pass over the view's jobs. `ns` "" counts every namespace.
LocalQueueTable CountLocalQueues(const WorldView& view, const std::string& ns);

/// The quota of jobs that hold it but are not admitted yet, by ClusterQueue. Passes over the view's
/// jobs only if there are such jobs.
std::map<std::string, Amounts> CountUnadmitted(const WorldView& view);

/// `unadmitted`: the amounts of this queue, from CountUnadmitted.
json::object ClusterQueueStatus(const WorldView& view, const StoredObject& object,
                                const Amounts& unadmitted);
json::object LocalQueueStatus(const WorldView& view, const StoredObject& object,
                              const LocalQueueTotals& totals);
/// The quota of the cohort's whole subtree and what is used of it, by flavor and resource.
json::object CohortStatus(const WorldView& view, const StoredObject& object);
json::object MemberClusterStatus(const WorldView& view, const StoredObject& object);

}  // namespace muster::api
