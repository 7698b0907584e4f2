#include "schedd/lifecycle/fair_use_ledger.h"

#include <utility>

#include "schedd/model/requests.h"

namespace muster {
namespace {

core::LocalQueueKey KeyOf(const JobRecord& job) { return {job.ns, job.local_queue}; }

bool Reserves(const JobRecord& job) { return HoldsQuota(job.state) && job.admission != nullptr; }

ResourceList ChargedAmounts(const JobRecord& job, const AdmissionSettings& settings) {
  ResourceList total;
  for (const PodSetTotal& one : TotalRequests(job, settings)) AddAmounts(&total, one.requests);
  return total;
}

}  // namespace

FairUseLedger::FairUseLedger(AdmissionSettingsPtr settings) : settings_(std::move(settings)) {
  if (settings_->admission_fair_sharing_gate && settings_->admission_fair_sharing)
    ledger_.emplace(*settings_->admission_fair_sharing);
}

void FairUseLedger::Restore(const Key& key, const core::FairLedger::History& history) {
  if (!on()) return;
  ledger_->Restore(key, history);
  known_.insert(key);
  unordered_.insert(key);
  ++version_;
}

void FairUseLedger::Adopt(const ConfigView& config, const JobRecord& job) {
  if (!on() || !Reserves(job)) return;
  if (IsDispatched(job.state)) {
    Count(job, +1);
  } else if (core::AdmitsByUsage(config, *settings_, job.admission->cluster_queue)) {
    ledger_->PushPenalty(KeyOf(job), job.id, ChargedAmounts(job, *settings_));
  }
}

void FairUseLedger::Count(const JobRecord& job, int sign) {
  const ResourceList amounts = ChargedAmounts(job, *settings_);
  ResourceList& used = in_use_[KeyOf(job)];
  AddAmounts(&used, sign > 0 ? amounts : Scaled(amounts, -1));
}

void FairUseLedger::Move(const ConfigView& config, const JobRecord& before, const JobRecord& after,
                         WallTime now) {
  if (!on()) return;
  const bool reserved = Reserves(before), reserves = Reserves(after);
  if (!reserved && !reserves) return;
  const Key key = KeyOf(after);
  const bool was_admitted = reserved && IsDispatched(before.state);
  const bool admitted = reserves && IsDispatched(after.state);
  if (was_admitted) Count(before, -1);
  if (admitted) Count(after, +1);
  if (!reserved && core::AdmitsByUsage(config, *settings_, after.admission->cluster_queue))
    ledger_->PushPenalty(key, after.id, ChargedAmounts(after, *settings_));
  if (!was_admitted && admitted) {
    SampleOne(key, now);
    ledger_->FoldPenalty(key, after.id);
  } else if (!reserves) {
    ledger_->DropPenalty(key, after.id);
  } else if (reserved) {
    return;  // its history is what it was
  }
  Touch(key);
}

void FairUseLedger::SampleOne(const Key& key, WallTime now) {
  const auto used = in_use_.find(key);
  ledger_->Sample(key, used == in_use_.end() ? ResourceList{} : used->second, now);
  known_.insert(key);
  Touch(key);
}

void FairUseLedger::Touch(const Key& key) {
  changes_.changed.insert(key);
  unordered_.insert(key);
  ++version_;
}

void FairUseLedger::Sample(const ConfigView& config, WallTime now) {
  if (!on()) return;
  for (const auto& [key, queue] : config.local_queues) SampleOne(key, now);
}

void FairUseLedger::Configure(const ConfigView& config, WallTime now) {
  if (!on()) return;
  for (const auto& [key, queue] : config.local_queues) {
    changes_.removed.erase(key);
    if (!known_.contains(key)) SampleOne(key, now);
    unordered_.insert(key);
  }
  std::erase_if(known_, [&](const Key& key) {
    if (config.local_queues.contains(key)) return false;
    ledger_->Forget(key);
    changes_.changed.erase(key);
    unordered_.erase(key);
    changes_.removed.insert(key);
    return true;
  });
  ++version_;
}

FairUseLedger::Changes FairUseLedger::TakeChanges() { return std::exchange(changes_, {}); }

void FairUseLedger::TellOrder(const ConfigView& config, core::PendingQueues* pending) {
  for (const Key& key : unordered_) {
    const auto queue = config.local_queues.find(key);
    if (queue == config.local_queues.end()) continue;
    pending->SetUsage(key.first, key.second, ledger_->UsageOf(key, queue->second.fair_weight));
  }
  unordered_.clear();
}

std::shared_ptr<const core::LocalQueueUsages> FairUseLedger::Usages(
    const ConfigView& config) const {
  if (!on()) return nullptr;
  return std::make_shared<const core::LocalQueueUsages>(ledger_->Usages(config, *settings_));
}

}  // namespace muster
