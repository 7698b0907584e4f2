// FairUsage: admission fair sharing in a simulation (KEP-4136, rule A42): feeds the ledger
// with what LocalQueues use and tells the queues whose turn it is. Does nothing where the settings
// have it off. Not thread-safe.
#pragma once

#include <map>
#include <memory>

#include "schedd/core/queue/queue_order.h"
#include "schedd/core/quota/admission_fair_sharing.h"
#include "schedd/model/config.h"

namespace muster::simulate {

class FairUsage {
 public:
  /// `pending` is not owned.
  FairUsage(ConfigPtr config, AdmissionSettingsPtr settings, core::PendingQueues* pending);

  bool on() const { return ledger_ != nullptr; }
  std::int64_t interval_us() const;
  /// Quota was reserved for it, or it was started with it.
  void OnReserved(const JobRecord& job);
  void OnAdmitted(const JobRecord& job, WallTime now);
  /// It gives its quota back, admitted or not.
  void OnReleased(const JobRecord& job);
  /// One sample of every LocalQueue in use.
  void Sample(WallTime now);
  std::shared_ptr<const core::LocalQueueUsages> Usages() const;

 private:
  void Tell(const core::LocalQueueKey& queue);
  void SampleOne(const core::LocalQueueKey& queue, WallTime now);
  bool Counts(const JobRecord& job) const;

  ConfigPtr config_;
  AdmissionSettingsPtr settings_;
  core::PendingQueues* pending_;
  std::unique_ptr<core::FairLedger> ledger_;  // null: off
  std::map<core::LocalQueueKey, ResourceList> in_use_;
  std::map<JobId, ResourceList> admitted_;
};

}  // namespace muster::simulate
