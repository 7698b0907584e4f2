// FairLedger: admission fair sharing (KEP-4136, rule A42).
//
// The history of a LocalQueue is an exponentially weighted average of its use. A sample after
// `elapsed` seconds has weight a = 1 - 0.5^(elapsed / halfLife): history = history x (1 - a) + use
// x a, per resource. After one half-life with no use, half of the history is left; a half-life of 0
// turns the history off.
//
// Between two samples many workloads of one LocalQueue could start before its usage rises. So each
// reservation adds a penalty at once: requests x a(sampling interval), the weight that the next
// sample would give them. Admission folds the penalty into the history; if the workload ends
// before, the penalty is dropped.
#include "schedd/core/quota/admission_fair_sharing.h"

#include <cmath>
#include <limits>

#include "schedd/base/quantity.h"

namespace muster::core {
namespace {

constexpr std::int64_t kThousand = 1000;

// Milli resources (cpu) are in thousandths already.
std::int64_t ToThousandths(const std::string& resource, std::int64_t amount) {
  return IsMilliResource(resource) ? amount : SaturatingMul(amount, kThousand);
}

// A share of an amount, rounded to the nearest thousandth.
std::int64_t Part(std::int64_t amount, double share) {
  return std::llround(static_cast<double>(amount) * share);
}

// The configured weight of a resource; 1 if none is configured.
double WeightOf(const AdmissionFairSharing& settings, const std::string& resource) {
  for (const auto& [name, weight] : settings.resource_weights) {
    if (name == resource) return weight;
  }
  return 1;
}

}  // namespace

bool AdmitsByUsage(const ConfigView& config, const AdmissionSettings& settings,
                   const std::string& cluster_queue) {
  if (!settings.admission_fair_sharing_gate || !settings.admission_fair_sharing) return false;
  const auto queue = config.cluster_queues.find(cluster_queue);
  return queue != config.cluster_queues.end() && queue->second.usage_based;
}

// 1 - 0.5^(elapsed / halfLife). 0 for a half-life of 0, so that penalties are 0 as well.
double FairLedger::Rate(double elapsed_s) const {
  if (settings_.half_life_s <= 0) return 0;
  return 1 - std::pow(0.5, elapsed_s / static_cast<double>(settings_.half_life_s));
}

void FairLedger::Restore(const LocalQueueKey& queue, const ResourceList& consumed, WallTime at) {
  Entry& entry = entries_[queue];
  entry.consumed.clear();
  for (const auto& [resource, amount] : consumed) {
    entry.consumed[resource] = ToThousandths(resource, amount);
  }
  entry.updated = at;
}

FairLedger::History FairLedger::HistoryOf(const LocalQueueKey& queue) const {
  History history;
  const auto found = entries_.find(queue);
  if (found == entries_.end()) return history;
  for (const auto& [resource, amount] : found->second.consumed)
    history.thousandths.push_back({resource, amount});
  history.updated = found->second.updated;
  return history;
}

void FairLedger::Restore(const LocalQueueKey& queue, const History& history) {
  Entry& entry = entries_[queue];
  entry.consumed.clear();
  for (const auto& [resource, amount] : history.thousandths) entry.consumed[resource] = amount;
  entry.updated = history.updated;
}

// The clock of the caller may stand still or run back; then only the time is noted.
void FairLedger::Sample(const LocalQueueKey& queue, const ResourceList& in_use, WallTime now) {
  Entry& entry = entries_[queue];
  const bool first = !entry.updated.set();
  const double elapsed =
      static_cast<double>(now.us - entry.updated.us) / static_cast<double>(kMicrosPerSecond);
  entry.updated = now;
  if (settings_.half_life_s <= 0) {
    entry.consumed.clear();
    return;
  }
  if (first || elapsed <= 0) return;
  const double rate = Rate(elapsed);
  for (auto& [resource, amount] : entry.consumed) amount = Part(amount, 1 - rate);
  for (const auto& [resource, amount] : in_use) {
    std::int64_t& known = entry.consumed[resource];
    known = SaturatingAdd(known, Part(ToThousandths(resource, amount), rate));
  }
}

void FairLedger::PushPenalty(const LocalQueueKey& queue, JobId job, const ResourceList& requests) {
  const auto [penalty, fresh] = entries_[queue].penalties.try_emplace(job);
  if (!fresh) return;
  const double rate = Rate(static_cast<double>(settings_.sampling_interval_s));
  for (const auto& [resource, amount] : requests) {
    penalty->second[resource] = Part(ToThousandths(resource, amount), rate);
  }
}

void FairLedger::FoldPenalty(const LocalQueueKey& queue, JobId job) {
  const auto found = entries_.find(queue);
  if (found == entries_.end()) return;
  const auto penalty = found->second.penalties.find(job);
  if (penalty == found->second.penalties.end()) return;
  for (const auto& [resource, amount] : penalty->second) {
    std::int64_t& known = found->second.consumed[resource];
    known = SaturatingAdd(known, amount);
  }
  found->second.penalties.erase(penalty);
}

void FairLedger::DropPenalty(const LocalQueueKey& queue, JobId job) {
  const auto found = entries_.find(queue);
  if (found != entries_.end()) found->second.penalties.erase(job);
}

double FairLedger::UsageOf(const LocalQueueKey& queue, double weight) const {
  const auto found = entries_.find(queue);
  if (found == entries_.end()) return 0;
  Thousandths total = found->second.consumed;
  for (const auto& [job, penalty] : found->second.penalties) {
    for (const auto& [resource, amount] : penalty) {
      total[resource] = SaturatingAdd(total[resource], amount);
    }
  }
  double usage = 0;
  for (const auto& [resource, amount] : total) {
    usage += WeightOf(settings_, resource) * static_cast<double>(amount) / kThousand;
  }
  return weight <= 0 ? std::numeric_limits<double>::infinity() : usage / weight;
}

LocalQueueUsages FairLedger::Usages(const ConfigView& config,
                                    const AdmissionSettings& settings) const {
  LocalQueueUsages usages;
  for (const auto& [key, queue] : config.local_queues) {
    if (!AdmitsByUsage(config, settings, queue.cluster_queue)) continue;
    usages.emplace(key, UsageOf(key, queue.fair_weight));
  }
  return usages;
}

ResourceList FairLedger::ConsumedBy(const LocalQueueKey& queue) const {
  ResourceList consumed;
  const auto found = entries_.find(queue);
  if (found == entries_.end()) return consumed;
  for (const auto& [resource, amount] : found->second.consumed) {
    SetAmount(&consumed, resource, IsMilliResource(resource) ? amount : amount / kThousand);
  }
  return consumed;
}

}  // namespace muster::core
