// Snapshot: everything one Decide may look at. Immutable values; equal snapshots give equal plans.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "schedd/core/member/cluster_view.h"
#include "schedd/core/preempt/preemption.h"
#include "schedd/core/queue/queue_order.h"
#include "schedd/core/quota/holders.h"
#include "schedd/core/quota/quota_tree.h"
#include "schedd/core/topology/topology_usage.h"
#include "schedd/model/admission_settings.h"
#include "schedd/model/config.h"
#include "schedd/model/job.h"

namespace muster::core {

struct Snapshot {
  ConfigPtr config;
  AdmissionSettingsPtr settings = std::make_shared<const AdmissionSettings>();
  Usage usage;                             // bound to the QuotaTree of `config`
  std::shared_ptr<const Holders> holders;  // what `usage` is made of; null: none that count
  /// What placed pods take of the machines; without forest no flavor knows its machines.
  TopologyUsage topology;
  std::vector<QueueHeads> heads;      // in queue-name order
  std::vector<JobPtr> second_pass;    // due ones (SecondPassQueue), in order
  std::vector<ClusterView> clusters;  // in name order; empty: no placement, everything fits
  std::shared_ptr<const PlacedCounts> placed;            // null: none counts
  std::shared_ptr<const LocalQueueUsages> local_usages;  // null: no admission fair sharing
  /// Some admitted workload has not all its pods ready (waitForPodsReady.blockAdmission).
  bool pods_not_ready = false;
  WallTime now;            // second resolution; what is admitted is reserved at it
  std::int64_t cycle = 0;  // number of the next single-head cycle; grows by Plan::rounds
};

}  // namespace muster::core
