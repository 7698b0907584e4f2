#include "schedd/simulate/fair_usage.h"

#include "schedd/base/time.h"

namespace muster::simulate {
namespace {

ResourceList UsedBy(const Admission& admission) {
  ResourceList used;
  for (const PodSetAssignment& pod_set : admission.pod_sets) AddAmounts(&used, pod_set.usage);
  return used;
}

core::LocalQueueKey KeyOf(const JobRecord& job) { return {job.ns, job.local_queue}; }

}  // namespace

FairUsage::FairUsage(ConfigPtr config, AdmissionSettingsPtr settings, core::PendingQueues* pending)
    : config_(std::move(config)), settings_(std::move(settings)), pending_(pending) {
  if (settings_->admission_fair_sharing && settings_->admission_fair_sharing_gate)
    ledger_ = std::make_unique<core::FairLedger>(*settings_->admission_fair_sharing);
}

std::int64_t FairUsage::interval_us() const {
  return SecondsToMicros(settings_->admission_fair_sharing->sampling_interval_s);
}

bool FairUsage::Counts(const JobRecord& job) const {
  return on() && core::AdmitsByUsage(*config_, *settings_, job.cluster_queue);
}

void FairUsage::OnReserved(const JobRecord& job) {
  if (!Counts(job)) return;
  ledger_->PushPenalty(KeyOf(job), job.id, UsedBy(*job.admission));
  Tell(KeyOf(job));
}

void FairUsage::OnAdmitted(const JobRecord& job, WallTime now) {
  if (!on()) return;
  const core::LocalQueueKey key = KeyOf(job);
  const ResourceList used = UsedBy(*job.admission);
  if (!admitted_.emplace(job.id, used).second) return;
  ledger_->FoldPenalty(key, job.id);
  AddAmounts(&in_use_[key], used);
  SampleOne(key, now);
}

void FairUsage::OnReleased(const JobRecord& job) {
  if (!on()) return;
  const core::LocalQueueKey key = KeyOf(job);
  ledger_->DropPenalty(key, job.id);
  const auto used = admitted_.find(job.id);
  if (used != admitted_.end()) {
    AddAmounts(&in_use_[key], Scaled(used->second, -1));
    admitted_.erase(used);
  }
  Tell(key);
}

void FairUsage::Sample(WallTime now) {
  for (const auto& [key, used] : in_use_) SampleOne(key, now);
}

void FairUsage::SampleOne(const core::LocalQueueKey& key, WallTime now) {
  ledger_->Sample(key, in_use_[key], now);
  Tell(key);
}

void FairUsage::Tell(const core::LocalQueueKey& key) {
  const auto queue = config_->local_queues.find(key);
  if (queue == config_->local_queues.end() ||
      !core::AdmitsByUsage(*config_, *settings_, queue->second.cluster_queue)) {
    return;
  }
  pending_->SetUsage(key.first, key.second, ledger_->UsageOf(key, queue->second.fair_weight));
}

std::shared_ptr<const core::LocalQueueUsages> FairUsage::Usages() const {
  if (!on()) return nullptr;
  return std::make_shared<const core::LocalQueueUsages>(ledger_->Usages(*config_, *settings_));
}

}  // namespace muster::simulate
