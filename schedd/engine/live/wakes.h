// Wakes: which ClusterQueues have to look at their waiting jobs again after a change of the
// configuration or of a member (rule A16).
//
// Pure functions. A queue is named if one of its waiting jobs may be helped, or now waits for
// another reason, and in no other case: a queue that is woken in vain costs a look at all its
// classes of jobs, and a queue that is not woken keeps a job waiting for ever.
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

/// Adds all ClusterQueues under the root cohort of this one; none if the tree does not have it.
void AddTree(const ConfigTree& world, const std::string& cluster_queue, QueueNames* names);

/// The ClusterQueues of `after` that the change of these objects concerns:
/// - a ClusterQueue or Cohort with another spec: the trees that it was in and is in, because what
///   one queue may not use any more others may borrow or reclaim.
/// - a ResourceFlavor or Topology: the queues with that flavor, or with a flavor of that topology.
/// - an AdmissionCheck that became active or inactive: the queues that require it.
/// - a LocalQueue: the queue that it led to and the one that it leads to.
/// - a Namespace: the queues whose selector takes it now and did not before, or the reverse.
/// - a MemberCluster: see `WokenByMember`. Priority classes are not here:
///   Configuration::PushPriorities changes the jobs and wakes their queues.
QueueNames WokenBy(const ConfigTree& before, const ConfigTree& after,
                   const std::vector<ObjectKey>& changed);

/// The ClusterQueues with a flavor that the member may carry, if the member can hold anything that
/// it could not hold before; `before` may be null. A member that lost something helps nobody: only
/// jobs that wait for room have another sentence now, and the caller knows their queues
/// (WaitingJobs::waits_for_room).
QueueNames WokenByMember(const MemberCluster* before, const MemberCluster& after,
                         const ConfigView& config);

}  // namespace muster
