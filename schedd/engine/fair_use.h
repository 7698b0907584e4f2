// FairUseTracker: admission fair sharing around the engine's records (KEP-4136, rule A42):
// what each LocalQueue's admitted jobs use, the ledger of what it used lately, and which histories
// are to be written. Not thread-safe; of the engine thread.
//
// Every LocalQueue has a history; only those of usage-based ClusterQueues get entry penalties and
// are ordered by it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "schedd/core/queue/queue_order.h"
#include "schedd/core/quota/admission_fair_sharing.h"
#include "schedd/store/store.h"
#include "schedd/world/world_view.h"

namespace muster {

class FairUseTracker {
 public:
  FairUseTracker() = default;
  /// Without admission fair sharing in the settings it does nothing.
  explicit FairUseTracker(AdmissionSettingsPtr settings);
  bool on() const { return ledger_.has_value(); }
  std::int64_t interval_s() const { return settings_->admission_fair_sharing->sampling_interval_s; }

  /// Recovery: stored histories first, then every job that holds quota. A penalty that was not
  /// folded yet is there again.
  void Restore(const std::vector<FairUseRow>& rows);
  void Adopt(const ConfigView& config, const JobRecord& job);

  /// A record takes the place of another: a reservation is penalised at once, an admission takes a
  /// sample and folds the penalty into the history, the end of a reservation drops it.
  void Move(const ConfigView& config, const JobRecord& before, const JobRecord& after,
            WallTime now);
  /// Ages every history to `now`; due every sampling interval.
  void Sample(const ConfigView& config, WallTime now);
  /// New queues start their clocks, removed ones are forgotten, weights may be others.
  void Configure(const ConfigView& config, WallTime now);

  /// Histories that changed since the last call.
  std::vector<FairUseRow> TakeRows();
  /// Orders `pending` by what changed since the last call.
  void TellOrder(const ConfigView& config, core::PendingQueues* pending);
  /// What a snapshot takes; null if it is off.
  std::shared_ptr<const core::LocalQueueUsages> Usages(const ConfigView& config) const;
  /// What a view shows; null if it is off.
  std::shared_ptr<const FairUses> View();

 private:
  using Key = core::LocalQueueKey;
  void Count(const JobRecord& job, int sign);
  void SampleOne(const Key& key, WallTime now);
  void Touch(const Key& key);

  AdmissionSettingsPtr settings_;
  std::optional<core::FairLedger> ledger_;  // empty: off
  std::map<Key, ResourceList> in_use_;      // by admitted jobs
  std::set<Key> known_;                     // queues with a history
  std::set<Key> unwritten_, unordered_;
  std::map<Key, FairUseRow> removed_;
  std::shared_ptr<const FairUses> view_;  // null: to be made again
};

}  // namespace muster
