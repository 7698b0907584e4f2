// FairLedger: what each LocalQueue has used lately, decayed, and the penalties of workloads that
// just got their quota (KEP-4136, rule A42). A plain data structure; not thread-safe.
//
// Amounts are kept in thousandths of a base unit (cpu: of a core, which it is in anyhow).
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

  /// Takes over a stored history. `consumed` in model units (cpu in thousandths, others in base
  /// units).
  void Restore(const LocalQueueKey& queue, const ResourceList& consumed, WallTime at);
  /// All of a queue's history, to be stored and taken over again without loss; penalties are not
  /// part of it. Nothing, at an unset time, for a queue without history.
  struct History {
    ResourceList thousandths;
    WallTime updated;
  };
  History HistoryOf(const LocalQueueKey& queue) const;
  void Restore(const LocalQueueKey& queue, const History& history);
  /// Ages the history to `now` and mixes in what the queue's admitted workloads use: every sampling
  /// interval, and when one is admitted. The very first sample only starts the clock.
  void Sample(const LocalQueueKey& queue, const ResourceList& in_use, WallTime now);

  /// A workload got its quota: its requests count at once, for the share that one sampling interval
  /// would give them. Once per reservation, not for second passes; no-op if it is here.
  void PushPenalty(const LocalQueueKey& queue, JobId job, const ResourceList& requests);
  /// It is admitted: the penalty becomes history. No-op without penalty.
  void FoldPenalty(const LocalQueueKey& queue, JobId job);
  /// It ended, failed, left the queue or was deactivated before. No-op without penalty.
  void DropPenalty(const LocalQueueKey& queue, JobId job);
  bool HasPenalty(const LocalQueueKey& queue) const;

  /// Sum over resources of weight x (consumed + penalties), divided by the LocalQueue's weight;
  /// infinity for weights of 0 and below. 0 for a queue without history.
  double UsageOf(const LocalQueueKey& queue, double weight) const;
  /// Of every LocalQueue whose ClusterQueue admits by usage.
  LocalQueueUsages Usages(const ConfigView& config, const AdmissionSettings& settings) const;
  /// What a status shows: model units, rounded down.
  ResourceList ConsumedBy(const LocalQueueKey& queue) const;
  void Forget(const LocalQueueKey& queue) { entries_.erase(queue); }

 private:
  using Thousandths = std::map<std::string, std::int64_t>;
  struct Entry {
    Thousandths consumed;
    std::map<JobId, Thousandths> penalties;
    WallTime updated;
  };
  double Rate(double elapsed_s) const;

  AdmissionFairSharing settings_;
  std::map<LocalQueueKey, Entry> entries_;
};

}  // namespace muster::core
