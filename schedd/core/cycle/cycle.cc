// Cycle: the rounds of one Decide (rules A18, A22 and A24).
//
// Run takes the next head of every queue (Advance) and decides one round, until no round can change
// anything, the budget is spent, or a queue's next head is not in the snapshot. Each round decides
// what the next of Kueue's single-head cycles would, so the budget changes the number of plans and
// never what is admitted (property tests hold this). Therefore a plan ends before a round whose
// heads it cannot see in full, and a round that would evict is put off to the next plan unless it
// is the first one: its victims may be workloads that this plan admitted.
//
// Heads that stay active are tried again in each round while anything moves, because what the
// others took may open another flavor or a preemption to them. Kueue tries such heads for ever.
// Here a head *blocks* its queue (Close) once a round has changed nothing and every head has
// searched its flavors from the first to the last.
//
// A workload that does not fit parks its scheduling key, and all heads with this key are skipped: a
// round costs the classes that it tries, not the workloads that wait.
#include "schedd/core/cycle/cycle.h"

#include <algorithm>
#include <utility>

#include "schedd/core/cycle/cycle_impl.h"
#include "schedd/core/queue/workload_class.h"
#include "schedd/model/admission_lifecycle.h"

namespace muster::core {
// Plans made with machines refer to this cycle's placer, so they must not outlive it: then the
// cycle uses a cache of its own.
Cycle::Cycle(const Snapshot& snapshot, const CycleInput& input)
    : snapshot_(snapshot),
      input_(input),
      config_(*snapshot.config),
      settings_(*snapshot.settings),
      usage_(snapshot.usage),
      topology_(snapshot.topology, settings_),
      room_(snapshot.clusters),
      known_(*(input.cache != nullptr && !topology_.has_machines() ? input.cache->known_
                                                                   : own_cache_.known_)),
      pods_not_ready_(snapshot.pods_not_ready) {
  known_.Begin(snapshot);
  if (topology_.has_machines()) {
    topology_.placer()->SetOrder([this](const JobRecord& job) { return MembersFor(job); });
  }
  active_.reserve(snapshot.heads.size());
  for (const auto& heads : snapshot.heads) {
    CycleQueue* queue = QueueOf(heads.cluster_queue);
    queue->heads = &heads;
    queue->preemptor = heads.preemptor;
    for (const auto& [job, admission] : heads.short_of_room)
      queue->short_of_room.push_back({job, admission, Reason::kNone, ""});
    active_.push_back(queue);
  }
}

// The queue's part of this cycle; made at the first call for a queue.
CycleQueue* Cycle::QueueOf(const std::string& cluster_queue) {
  CachedQueue& known = known_.Of(cluster_queue);
  if (known.cycle == known_.cycle) return known.now;
  known.cycle = known_.cycle;
  known.now = &queues_.emplace_back();
  known.now->known = &known;
  known.now->spec = known.spec;
  known.now->node = known.node;
  return known.now;
}

// The class of a head. What follows from the configuration (gate, flavor plan) is made once and
// stays in the cache; what belongs to one plan is reset at the first use in this plan.
CycleClass& Cycle::ClassOf(CycleQueue* queue, const JobPtr& job) {
  // SkipToHead left the scheduling key in key_.
  class_key_ = key_;
  class_key_ += job->ns;
  class_key_ += '\n';
  class_key_ += job->local_queue;
  const auto [entry, fresh] = queue->known->classes.try_emplace(class_key_);
  CycleClass& of = entry->second;
  if (of.cycle != known_.cycle) {
    of.cycle = known_.cycle;
    of.set_aside = false;
    of.fits.clear();
  }
  if (!fresh) return of;
  ++known_.classes;
  of.scheduling_key = key_;
  of.pod_sets = job->pod_sets;
  of.asks = MayAsk(*job);
  if (queue->known->gate || queue->spec == nullptr) return of;
  of.gate = JobGate(config_, *queue->spec, *job);
  of.plan = std::make_unique<FlavorPlan>(config_, settings_, usage_.tree(), *queue->spec, *job,
                                         topology_.placer());
  return of;
}

// False if AskOf finds nothing for any workload of the job's class, now or later.
bool Cycle::MayAsk(const JobRecord& job) const {
  const JobPlacement* own = job.placement.get();
  return (own != nullptr && !(own->cluster.empty() && own->datasets.empty())) ||
         NodeChoiceOf(job) != nullptr || !StateOf(job).avoided.empty() ||
         GoverningPlacement(config_, job, nullptr) != nullptr;
}

// Moves to the next head that is neither parked nor set aside. False if the snapshot shows no more.
bool Cycle::SkipToHead(CycleQueue* queue) {
  const auto& jobs = queue->heads->jobs;
  for (; queue->next < jobs.size(); ++queue->next) {
    const JobPtr& job = jobs[queue->next];
    key_.clear();
    AppendSchedulingKey(config_, *job, settings_, &key_);
    if (queue->parked.contains(key_)) continue;
    queue->head_class = &ClassOf(queue, job);
    if (!queue->head_class->set_aside) return true;
  }
  return false;
}

// Moves each queue to its next head and drops the queues that have none. True if such a queue has
// heads that the snapshot does not show.
bool Cycle::Advance() {
  bool heads_missing = false;
  std::erase_if(active_, [&](CycleQueue* queue) {
    if (SkipToHead(queue)) return false;
    heads_missing = heads_missing || queue->heads->more;
    return true;
  });
  return heads_missing;
}

Plan Cycle::Run() {
  while (true) {
    const bool heads_missing = Advance();
    const bool second_passes = plan_.rounds == 0 && !snapshot_.second_pass.empty();
    if (active_.empty() && !heads_missing && !second_passes) {
      Close(false);
      break;
    }
    // Without the next head of some queue this would not be one of Kueue's cycles. Rounds in which
    // nothing changed are few and belong together: the budget does not end a plan after one.
    const bool spent =
        plan_.rounds > 0 && (plan_.rounds >= input_.budget.rounds ||
                             (progress_ && plan_.heads_evaluated >= input_.budget.heads));
    if (heads_missing || spent || !Round()) {
      Close(true);
      break;
    }
    if (stopped_ || !evicted_.empty()) {
      Close(!stopped_);
      break;
    }
    if (!progress_ && !scans_pending_) {
      Close(false);
      break;
    }
    if (!progress_) continue;
    for (CycleQueue* queue : active_) queue->searched_whole = queue->tried_all = false;
  }
  return std::move(plan_);
}

// Ends the plan. Heads that stay active block their queue if nothing can change for them.
void Cycle::Close(bool more_work) {
  const bool single = input_.budget.rounds == 1;
  plan_.more_work = more_work;
  for (CycleQueue& queue : queues_) {
    if (!queue.waiting) continue;
    queue.waiting->block = !more_work && !single && !stopped_;
    plan_.not_admitted.push_back(std::move(*queue.waiting));
  }
}

// Decides one round. False if the round evicts and must wait for the next plan.
bool Cycle::Round() {
  entries_.clear();
  preempted_.clear();
  is_preempted_.clear();
  without_victims_.reset();
  left_.reset();
  left_admitted_ = left_preempted_ = standing_without_ = 0;
  admitted_before_ = admitted_.size();
  progress_ = scans_pending_ = false;
  number_ = snapshot_.cycle + static_cast<std::int64_t>(plan_.rounds);
  const std::size_t evaluated = plan_.heads_evaluated;
  if (plan_.rounds == 0) {
    for (const JobPtr& job : snapshot_.second_pass) NominateSecondPass(job);
  }
  entries_.reserve(entries_.size() + active_.size());
  for (CycleQueue* queue : active_) NominateHead(queue);
  if (plan_.rounds > 0 && MustBeFirstRound()) {
    plan_.heads_evaluated = evaluated;
    return false;
  }
  ++plan_.rounds;
  nominated_on_ = usage_;
  taken_.clear();
  ProcessAll();
  GiveBackReserved();
  return true;
}

// Quota, machines and room that were kept for waiting workloads are kept for one round only. The
// usage is put together anew, because a reservation that borrowed cannot simply be removed.
void Cycle::GiveBackReserved() {
  if (unreserved_) {
    room_ = std::move(*unreserved_);
    unreserved_.reset();
  }
  if (!reserved_) return;
  reserved_ = false;
  usage_ = nominated_on_;
  for (const auto& [queue, charge] : taken_) usage_.Add(queue, charge.pair, charge.amount);
  for (const TopologyCharges& machines : reserved_machines_) topology_.usage()->Release(machines);
  reserved_machines_.clear();
}

// True if the round would evict, or if two of its entries have a victim in common.
bool Cycle::MustBeFirstRound() const {
  std::set<JobId> seen;
  for (const CycleEntry& entry : entries_) {
    for (const Victim& victim : entry.victims) {
      if (!victim.holder->evicted || !seen.insert(victim.holder->job->id).second) return true;
    }
  }
  return false;
}

// In the classical order, or in that of the tournament.
void Cycle::ProcessAll() {
  if (settings_.fair_sharing) {
    ProcessFairly();
    return;
  }
  std::vector<CycleEntry*> order;
  order.reserve(entries_.size());
  for (CycleEntry& entry : entries_) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [&](const CycleEntry* a, const CycleEntry* b) {
    return ClassicalBefore(a->rank, b->rank, settings_);
  });
  for (CycleEntry* entry : order) {
    if (stopped_) return;
    Process(entry);
  }
}

// One entry of each queue takes part; where a queue has a second pass and a head, the head does,
// and the second pass is tried again later (rule A22). An entry that does not fit takes nothing
// from others, but it may win its cohort and lose above, which changes the order of the others: so
// all entries of a tree take part if any of them fits.
void Cycle::ProcessFairly() {
  std::map<NodeIndex, std::size_t> of_queue;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const auto [entry, fresh] = of_queue.try_emplace(entries_[i].queue->node, i);
    if (fresh) continue;
    CycleEntry& passed_over = entries_[entry->second];
    Wait(passed_over.queue, Verdict(passed_over, Reason::kNone, "", RequeueReason::kGeneric));
    entry->second = i;
  }
  const auto root_of = [this](NodeIndex node) { return usage_.tree().node(node).root; };
  std::set<NodeIndex> contested;
  for (const auto& [node, i] : of_queue) {
    if (entries_[i].mode != FlavorMode::kNoFit) contested.insert(root_of(node));
  }
  std::vector<FairTournament::Entrant> entrants;
  for (const auto& [node, i] : of_queue) {
    if (contested.contains(root_of(node))) {
      entrants.push_back({i, node, &entries_[i].rank, entries_[i].Adds()});
    } else {
      Process(&entries_[i]);
    }
  }
  FairTournament tournament(settings_, &usage_, std::move(entrants));
  while (!tournament.empty() && !stopped_) Process(&entries_[tournament.Next()]);
}

Plan Decide(const Snapshot& snapshot, const CycleInput& input) {
  return Cycle(snapshot, input).Run();
}

}  // namespace muster::core
