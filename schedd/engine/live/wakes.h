// Wakes: which ClusterQueues have to look at their waiting jobs again after a change of the
// configuration or of a member (rule A16).
//
// Pure functions. A queue is named if a job that waits in it may be helped, or has something else
// to say now of why it waits, and only then: whoever is woken in vain costs a look at all classes
// of jobs in it, whoever is not woken waits for ever.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "schedd/core/quota/quota_tree.h"
#include "schedd/engine/context/queue_names.h"
#include "schedd/world/world_view.h"

namespace muster {

/// A configuration with the quota tree made of it.
struct ConfigTree {
  const ConfigView& config;
  const core::QuotaTree& tree;
};

/// Adds all ClusterQueues under the root of this one; nothing if the tree does not know it.
void AddTree(const ConfigTree& world, const std::string& cluster_queue, QueueNames* names);

/// The ClusterQueues of `after` that the change of these objects concerns:
/// - a ClusterQueue or Cohort with another spec: the trees that it was in and is in, because what
///   one queue may not use any more others may borrow or reclaim.
/// - a ResourceFlavor, a Topology: the queues that have the flavor, a flavor of the topology.
/// - an AdmissionCheck that is active now and was not, or the reverse: the queues that require it.
/// - a LocalQueue: the queue that it led to and leads to.
/// - a Namespace: the queues whose selector takes it now and did not, or the reverse.
/// - a MemberCluster: see `WokenByMember`.
/// Priorities are not here: they change jobs, and who changes those names their queues.
QueueNames WokenBy(const ConfigTree& before, const ConfigTree& after,
                   const std::vector<ObjectKey>& changed);

/// The ClusterQueues with a flavor that the member may carry, if it can hold anything that it could
/// not before; `before` may be null. A member that lost something helps nobody: only those that
/// wait for room have something else to say, and the engine knows which they are.
QueueNames WokenByMember(const MemberCluster* before, const MemberCluster& after,
                         const ConfigView& config);

}  // namespace muster
