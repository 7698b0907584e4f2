// Snapshot: all inputs of one Decide. Immutable values; equal snapshots give equal plans.
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
  std::shared_ptr<const Holders> holders;  // the holders that make up `usage`; null: none
  /// What placed pods take of the machines; without a forest no flavor has known machines.
  TopologyUsage topology;
  std::vector<QueueHeads> heads;      // in queue-name order
  std::vector<JobPtr> second_pass;    // those that are due (SecondPassQueue), in order
  std::vector<ClusterView> clusters;  // in name order; empty: no placement, everything fits
  std::shared_ptr<const PlacedCounts> placed;            // for spread constraints; null: none
  std::shared_ptr<const LocalQueueUsages> local_usages;  // null: no admission fair sharing
  /// Some admitted workload has pods that are not ready (waitForPodsReady.blockAdmission).
  bool pods_not_ready = false;
  WallTime now;            // in whole seconds; the time of this cycle's reservations
  std::int64_t cycle = 0;  // number of the next single-head cycle; grows by Plan::rounds
};

}  // namespace muster::core
