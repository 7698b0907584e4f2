// Snapshot: everything one Decide may look at. Immutable values; equal snapshots give equal plans.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "schedd/core/queue_order.h"
#include "schedd/core/quota_tree.h"
#include "schedd/model/config.h"
#include "schedd/model/job.h"

namespace muster::core {

/// A member cluster with what is still free on it: allocatable minus what its live attempts hold.
struct ClusterView {
  MemberCluster member;
  ResourceList free;
};

struct Snapshot {
  ConfigPtr config;
  Usage usage;                        // bound to the QuotaTree of `config`
  std::vector<QueueHeads> heads;      // in queue-name order
  std::vector<ClusterView> clusters;  // in name order; empty: no placement, everything fits
};

}  // namespace muster::core
