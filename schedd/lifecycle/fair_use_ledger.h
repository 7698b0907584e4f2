// FairUseLedger: admission fair sharing around records that change (KEP-4136, rule A42): what each
// LocalQueue's admitted jobs use, and the ledger of what it used lately. Of the engine and of the
// simulator. A plain data structure; not thread-safe.
//
// Every LocalQueue has a history; only those of usage-based ClusterQueues get entry penalties and
// are ordered by it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "schedd/core/queue/queue_order.h"
#include "schedd/core/quota/admission_fair_sharing.h"

namespace muster {

class FairUseLedger {
 public:
  using Key = core::LocalQueueKey;
  FairUseLedger() = default;
  /// Without admission fair sharing in the settings it does nothing.
  explicit FairUseLedger(AdmissionSettingsPtr settings);
  bool on() const { return ledger_.has_value(); }
  std::int64_t interval_s() const { return settings_->admission_fair_sharing->sampling_interval_s; }

  /// Stored histories first, then every job that holds quota. A penalty that was not folded yet is
  /// there again.
  void Restore(const Key& key, const core::FairLedger::History& history);
  void Adopt(const ConfigView& config, const JobRecord& job);

  /// A record takes the place of another: a reservation is penalised at once, an admission takes a
  /// sample and folds the penalty into the history, the end of a reservation drops it.
  void Move(const ConfigView& config, const JobRecord& before, const JobRecord& after,
            WallTime now);
  /// Ages every history to `now`; due every sampling interval.
  void Sample(const ConfigView& config, WallTime now);
  /// New queues start their clocks, removed ones are forgotten, weights may be others.
  void Configure(const ConfigView& config, WallTime now);

  /// Orders `pending` by what changed since the last call.
  void TellOrder(const ConfigView& config, core::PendingQueues* pending);
  /// What a snapshot takes; null if it is off.
  std::shared_ptr<const core::LocalQueueUsages> Usages(const ConfigView& config) const;

  /// Queues with a history, and what it is.
  const std::set<Key>& known() const { return known_; }
  core::FairLedger::History HistoryOf(const Key& key) const { return ledger_->HistoryOf(key); }
  ResourceList ConsumedBy(const Key& key) const { return ledger_->ConsumedBy(key); }
  /// What changed since the last call: histories to be written, or gone.
  struct Changes {
    std::set<Key> changed, removed;
  };
  Changes TakeChanges();
  /// Another one whenever a history may be another.
  std::uint64_t version() const { return version_; }

 private:
  void Count(const JobRecord& job, int sign);
  void SampleOne(const Key& key, WallTime now);
  void Touch(const Key& key);

  AdmissionSettingsPtr settings_;
  std::optional<core::FairLedger> ledger_;  // empty: off
  std::map<Key, ResourceList> in_use_;      // by admitted jobs
  std::set<Key> known_, unordered_;
  Changes changes_;
  std::uint64_t version_ = 0;
};

}  // namespace muster
