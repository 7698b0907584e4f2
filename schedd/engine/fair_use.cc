#include "schedd/engine/fair_use.h"

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

FairUseTracker::FairUseTracker(AdmissionSettingsPtr settings) : settings_(std::move(settings)) {
  if (settings_->admission_fair_sharing_gate && settings_->admission_fair_sharing)
    ledger_.emplace(*settings_->admission_fair_sharing);
}

void FairUseTracker::Restore(const std::vector<FairUseRow>& rows) {
  if (!on()) return;
  for (const FairUseRow& row : rows) {
    const Key key(row.ns, row.local_queue);
    ledger_->Restore(key, core::FairLedger::History{row.consumed, row.updated});
    known_.insert(key);
    unordered_.insert(key);
  }
}

void FairUseTracker::Adopt(const ConfigView& config, const JobRecord& job) {
  if (!on() || !Reserves(job)) return;
  if (IsDispatched(job.state)) {
    Count(job, +1);
  } else if (core::AdmitsByUsage(config, *settings_, job.admission->cluster_queue)) {
    ledger_->PushPenalty(KeyOf(job), job.id, ChargedAmounts(job, *settings_));
  }
}

void FairUseTracker::Count(const JobRecord& job, int sign) {
  const ResourceList amounts = ChargedAmounts(job, *settings_);
  ResourceList& used = in_use_[KeyOf(job)];
  AddAmounts(&used, sign > 0 ? amounts : Scaled(amounts, -1));
}

void FairUseTracker::Move(const ConfigView& config, const JobRecord& before, const JobRecord& after,
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

void FairUseTracker::SampleOne(const Key& key, WallTime now) {
  const auto used = in_use_.find(key);
  ledger_->Sample(key, used == in_use_.end() ? ResourceList{} : used->second, now);
  known_.insert(key);
  Touch(key);
}

void FairUseTracker::Touch(const Key& key) {
  unwritten_.insert(key);
  unordered_.insert(key);
  view_.reset();
}

void FairUseTracker::Sample(const ConfigView& config, WallTime now) {
  if (!on()) return;
  for (const auto& [key, queue] : config.local_queues) SampleOne(key, now);
}

void FairUseTracker::Configure(const ConfigView& config, WallTime now) {
  if (!on()) return;
  for (const auto& [key, queue] : config.local_queues) {
    removed_.erase(key);
    if (!known_.contains(key)) SampleOne(key, now);
    unordered_.insert(key);
  }
  std::erase_if(known_, [&](const Key& key) {
    if (config.local_queues.contains(key)) return false;
    ledger_->Forget(key);
    unwritten_.erase(key);
    unordered_.erase(key);
    removed_[key] = {key.first, key.second, {}, {}, true};
    return true;
  });
  view_.reset();
}

std::vector<FairUseRow> FairUseTracker::TakeRows() {
  std::vector<FairUseRow> rows;
  for (auto& [key, row] : removed_) rows.push_back(std::move(row));
  for (const Key& key : unwritten_) {
    if (!known_.contains(key)) continue;
    core::FairLedger::History history = ledger_->HistoryOf(key);
    rows.push_back({key.first, key.second, std::move(history.thousandths), history.updated});
  }
  removed_.clear();
  unwritten_.clear();
  return rows;
}

void FairUseTracker::TellOrder(const ConfigView& config, core::PendingQueues* pending) {
  for (const Key& key : unordered_) {
    const auto queue = config.local_queues.find(key);
    if (queue == config.local_queues.end()) continue;
    pending->SetUsage(key.first, key.second, ledger_->UsageOf(key, queue->second.fair_weight));
  }
  unordered_.clear();
}

std::shared_ptr<const core::LocalQueueUsages> FairUseTracker::Usages(
    const ConfigView& config) const {
  if (!on()) return nullptr;
  return std::make_shared<const core::LocalQueueUsages>(ledger_->Usages(config, *settings_));
}

std::shared_ptr<const FairUses> FairUseTracker::View() {
  if (!on() || view_ != nullptr) return view_;
  auto made = std::make_shared<FairUses>();
  for (const Key& key : known_)
    made->emplace(key, FairUse{ledger_->ConsumedBy(key), ledger_->HistoryOf(key).updated});
  view_ = std::move(made);
  return view_;
}

}  // namespace muster
