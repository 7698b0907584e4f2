// FairLedger: the decayed usage of each LocalQueue, and the entry penalties of workloads that have
// just got their quota (KEP-4136, rule A42). A plain data structure; not thread-safe.
//
// Amounts are kept in thousandths of a base unit (for cpu: thousandths of a core, its usual unit),
// so that repeated decay does not round small amounts away.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "schedd/core/quota/local_queue_usages.h"
#include "schedd/model/admission_settings.h"
#include "schedd/model/config.h"
#include "schedd/model/job.h"

namespace muster::core {

/// True if the ClusterQueue orders by LocalQueue usage under these settings.
bool AdmitsByUsage(const ConfigView& config, const AdmissionSettings& settings,
                   const std::string& cluster_queue);

class FairLedger {
 public:
  explicit FairLedger(AdmissionFairSharing settings) : settings_(std::move(settings)) {}

  /// Sets the history of a queue from a stored status. `consumed` is in model units (cpu in
  /// thousandths, all else in base units).
  void Restore(const LocalQueueKey& queue, const ResourceList& consumed, WallTime at);
  /// The whole history of a queue in a form that can be stored and restored without loss. Penalties
  /// are not part of it: they follow from the reservations.
  struct History {
    ResourceList thousandths;
    WallTime updated;
  };
  /// Empty, with an unset time, for a queue without history.
  History HistoryOf(const LocalQueueKey& queue) const;
  void Restore(const LocalQueueKey& queue, const History& history);
  /// Ages the history to `now` and mixes in what the queue's admitted workloads use. To be called
  /// every sampling interval and whenever a workload is admitted. The first sample of a queue only
  /// starts its clock.
  void Sample(const LocalQueueKey& queue, const ResourceList& in_use, WallTime now);

  /// A workload got its quota: its requests count at once, by the share that one sampling interval
  /// would give them. To be called once per reservation, not for second passes; no-op if the job
  /// already has a penalty.
  void PushPenalty(const LocalQueueKey& queue, JobId job, const ResourceList& requests);
  /// The workload is admitted: its penalty becomes history. No-op without penalty.
  void FoldPenalty(const LocalQueueKey& queue, JobId job);
  /// The workload ended, failed, left the queue or was deactivated before it was admitted. No-op
  /// without penalty.
  void DropPenalty(const LocalQueueKey& queue, JobId job);

  /// Sum over resources of weight x (consumed + penalties), divided by the LocalQueue's weight;
  /// infinity for weights of 0 and below. 0 for a queue without history.
  double UsageOf(const LocalQueueKey& queue, double weight) const;
  /// UsageOf for every LocalQueue whose ClusterQueue admits by usage.
  LocalQueueUsages Usages(const ConfigView& config, const AdmissionSettings& settings) const;
  /// The history as a LocalQueue's status shows it: in model units, rounded down.
  ResourceList ConsumedBy(const LocalQueueKey& queue) const;
  void Forget(const LocalQueueKey& queue) { entries_.erase(queue); }

 private:
  using Thousandths = std::map<std::string, std::int64_t>;
  struct Entry {
    Thousandths consumed;
    std::map<JobId, Thousandths> penalties;
    WallTime updated;
  };
  /// The weight that a sample over `elapsed_s` seconds gets against the history, 0 to 1.
  double Rate(double elapsed_s) const;

  AdmissionFairSharing settings_;
  std::map<LocalQueueKey, Entry> entries_;
};

}  // namespace muster::core
