// PendingQueues::Impl: all queues and the index over their workloads. Only for the sources of
// PendingQueues: queue_order.cc, queue_views.cc and queue_regroup.cc.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "schedd/core/queue/gates.h"
#include "schedd/core/queue/pending_queue.h"
#include "schedd/core/queue/queue_order.h"
#include "schedd/core/queue/workload_class.h"
#include "schedd/core/quota/admission_fair_sharing.h"

namespace muster::core {

/// The seat of a workload in a partition of tier 1: its record with effective priority and queue
/// timestamp.
inline Seat SeatOf(JobPtr job, const AdmissionSettings& settings) {
  Seat seat;
  seat.priority = EffectivePriority(*job, settings);
  seat.time = QueueTime(*job, settings);
  seat.job = std::move(job);
  return seat;
}

struct PendingQueues::Impl {
  using Place = PendingQueue::Place;

  ConfigPtr config;
  AdmissionSettingsPtr settings = std::make_shared<const AdmissionSettings>();
  QuotaTreePtr tree;
  std::map<std::string, PendingQueue> queues;
  std::unordered_map<JobId, Place> places;             // never iterated
  std::map<std::string, PendingQueue*> ready;          // queues that are Ready, in name order
  std::map<NodeIndex, std::set<std::string>> blocked;  // by root of the tree; may name idle queues
  std::map<std::pair<std::string, std::string>, double> usage;  // by (namespace, LocalQueue)
  // Of LocalQueues whose tier is not 1: none, as a rule.
  std::map<std::pair<std::string, std::string>, std::int32_t> tiers;
  std::map<std::string, std::int64_t> generations;  // number of releases by ClusterQueue
  std::int64_t configured = 0;                      // number of calls of Configure
  std::string key;                                  // buffer of HashOf

  const Place* PlaceOf(JobId id) const {
    const auto found = places.find(id);
    return found == places.end() ? nullptr : &found->second;
  }

  // Only BestEffortFIFO queues have a sticky preemptor (rule A13).
  const Place* StickyOf(const PendingQueue& queue) const {
    return queue.rules.strict ? nullptr : PlaceOf(queue.preemptor);
  }

  // Queues whose heads take part in the next cycle, by name.
  std::vector<const PendingQueue*> InCycle() const;

  void UpdateReady(PendingQueue& queue) {
    if (queue.Ready(StickyOf(queue))) {
      ready.emplace(queue.name, &queue);
    } else {
      ready.erase(queue.name);
    }
  }

  // Grows with every release of the queue's quota and with every configuration.
  std::int64_t GenerationOf(const std::string& cluster_queue) const {
    const auto found = generations.find(cluster_queue);
    return configured + (found == generations.end() ? 0 : found->second);
  }

  NodeIndex RootOf(const std::string& cluster_queue) const {
    const NodeIndex node = tree == nullptr ? -1 : tree->ClusterQueueIndex(cluster_queue);
    return node < 0 ? -1 : tree->node(node).root;
  }

  void SetRules(PendingQueue& queue) const {
    QueueRules rules;
    rules.hashing = settings->equivalence_hashing;
    const auto spec = config == nullptr ? nullptr : FindQueue(queue.name);
    if (spec != nullptr) {
      rules.strict = spec->strategy == QueueingStrategy::kStrictFifo;
      rules.usage_based = AdmitsByUsage(*config, *settings, queue.name);
      rules.preempts = spec->preemption.within_cluster_queue != PreemptionPolicy::kNever ||
                       spec->preemption.reclaim_within_cohort != PreemptionPolicy::kNever;
    }
    queue.rules = rules;
  }

  const ClusterQueue* FindQueue(const std::string& name) const {
    const auto found = config->cluster_queues.find(name);
    return found == config->cluster_queues.end() ? nullptr : &found->second;
  }

  PendingQueue& QueueOf(const std::string& name) {
    const auto [it, fresh] = queues.try_emplace(name, name);
    if (fresh) SetRules(it->second);
    return it->second;
  }

  // Reads the tiers of the configuration; true if they have changed.
  bool TakeTiers() {
    decltype(tiers) found;
    for (const auto& [name, local] : config->local_queues) {
      if (local.partition.tier != 1) found.emplace(name, local.partition.tier);
    }
    std::swap(tiers, found);
    return tiers != found;
  }

  Seat SeatFor(JobPtr job) const {
    std::int32_t tier = 1;
    if (!tiers.empty()) {
      const auto found = tiers.find({job->ns, job->local_queue});
      if (found != tiers.end()) tier = found->second;
    }
    Seat seat = SeatOf(std::move(job), *settings);
    seat.tier = tier;
    return seat;
  }

  double UsageOf(const PendingQueue& queue, const JobRecord& job) const {
    if (!queue.rules.usage_based) return 0;
    const auto found = usage.find({job.ns, job.local_queue});
    return found == usage.end() ? 0 : found->second;
  }

  // The scheduling key of a workload (workload_class.h). The reference is valid until the next
  // call.
  const std::string& HashOf(const JobRecord& job) {
    key.clear();
    static const ConfigView kNone;
    AppendSchedulingKey(config == nullptr ? kNone : *config, job, *settings, &key);
    return key;
  }

  bool MatchesNamespace(const PendingQueue& queue, const std::string& ns) const {
    const ClusterQueue* spec = config == nullptr ? nullptr : FindQueue(queue.name);
    return spec == nullptr || NamespaceMatches(*config, *spec, ns);
  }

  // Puts a workload among its equals.
  void Join(PendingQueue& queue, JobPtr job) {
    const JobId id = job->id;
    const double of_local_queue = UsageOf(queue, *job);
    const std::string& hash = HashOf(*job);
    places[id] = queue.Insert(SeatFor(std::move(job)), hash, of_local_queue);
  }

  void SetAside(PendingQueue& queue, JobPtr job, bool backoff) {
    const JobId id = job->id;
    places[id] = queue.SetAside(SeatFor(std::move(job)), backoff);
  }

  // Takes a workload out of its class or pen; the queue stays, even if it is empty.
  JobPtr TakeOut(JobId id) {
    const auto found = places.find(id);
    if (found == places.end()) return nullptr;
    const Place place = found->second;
    JobPtr job = place.job();
    places.erase(found);
    place.queue->Erase(place);
    return job;
  }

  // Drops all that the queue remembers about a workload that leaves. Variants that stood back for
  // it may be tried again.
  void Forget(PendingQueue& queue, JobId id) {
    queue.last.erase(id);
    if (queue.short_of_room.erase(id) > 0) FlushOne(queue, WallTime{});
    if (queue.preemptor == id) {
      queue.preemptor = JobId{};
      queue.preemptor_was.reset();
    }
    if (queue.blocked_by == id) queue.blocked_by = JobId{};
  }

  void EraseIfIdle(PendingQueue& queue) {
    if (!queue.empty()) return;
    ready.erase(queue.name);
    const std::string name = queue.name;
    queues.erase(name);
  }

  void Rebuild(PendingQueue& queue);
  void Regroup(const ConfigView& before);
  void Add(JobPtr job, WallTime now);
  void AddAgain(PendingQueue& queue, const Place& place, JobPtr job, WallTime now);
  void Enter(PendingQueue& queue, JobPtr job, bool was_active, WallTime now);
  bool PutBack(PendingQueue& queue, const JobPtr& evaluated, JobPtr newest, RequeueReason reason,
               WallTime now);
  void Remember(PendingQueue& queue, const JobPtr& job, RequeueReason reason,
                LastAssignmentPtr last);
  void Block(PendingQueue& queue, JobId id, RequeueReason reason);
  void Unblock(const Plan& plan);
  std::size_t FlushOne(PendingQueue& queue, WallTime now);
};

}  // namespace muster::core
