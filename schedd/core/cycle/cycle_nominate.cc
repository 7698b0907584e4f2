// Cycle: nomination of heads and second passes on the state at the start of a round (rules A19,
// A20).
//
// A head whose gates are open first gets the quick walk of its class's flavor plan
// (FlavorPlan::Choose); most heads that fit are decided by it. Otherwise the complete search runs
// (Search): all pods, then victims if the flavors need room, then, if nothing fits, partial
// admission by binary search. If quota alone chose the victims, MoveVictims looks whether their
// room is of use on some member (rule P15).
//
// A search goes on behind the flavor where the last one ended (ResumeFrom). Victims come from the
// holders of earlier rounds: no entry evicts what its own round admits, as in Kueue.
#include <algorithm>

#include "schedd/core/cycle/cycle_impl.h"
#include "schedd/core/flavor/flavor_topology.h"
#include "schedd/core/flavor/partial_admission.h"
#include "schedd/model/admission_lifecycle.h"

namespace muster::core {
namespace {

// The part of the charges that a second pass does not hold yet.
Charges Beyond(Charges all, const Charges& held) {
  for (Charge& charge : all) {
    const auto has = std::find_if(held.begin(), held.end(),
                                  [&](const Charge& one) { return one.pair == charge.pair; });
    if (has == held.end()) continue;
    charge.amount = std::max<std::int64_t>(0, charge.amount - has->amount);
  }
  return all;
}

}  // namespace

void Cycle::NominateHead(CycleQueue* queue) {
  ++plan_.heads_evaluated;
  const JobPtr job = queue->head();
  CycleClass* of = queue->head_class;
  if (Closed(queue, of, job, false)) return;
  CycleEntry entry = MakeEntry(queue, of, job);
  entry.rank.preemptor = queue->preemptor == job->id;
  entry.resumed = ResumeFrom(*queue, job);
  queue->resumed = entry.resumed != nullptr;
  if (!queue->resumed) {
    queue->searched_whole = true;
    ForgetRoom(queue, *job);
  }
  // Slices charge a difference, and explain needs the attempts: neither can use the quick walk.
  const bool plain = StateOf(*job).replaces_slice.empty() && !input_.keep_assignments;
  if (plain) {
    const QuickVerdict quick =
        of->plan->Choose(usage_, entry.resumed ? &entry.resumed->tried : nullptr);
    if (quick.kind == QuickVerdict::Kind::kFits) {
      entry.choice = quick.choice;
      entry.mode = FlavorMode::kFit;
      entry.rank.level = quick.level;
      entry.admission = quick.choice->admission;
      entries_.push_back(std::move(entry));
      return;
    }
  }
  Assign(&entry);
  entries_.push_back(std::move(entry));
}

// A second pass has a class of its own: its demand is that of its reservation.
void Cycle::NominateSecondPass(const JobPtr& job) {
  ++plan_.heads_evaluated;
  CycleQueue* queue = QueueOf(job->cluster_queue);
  if (queue->spec == nullptr || job->admission == nullptr) return;
  CycleClass* of = &second_pass_classes_.emplace_back();
  of->pod_sets = job->pod_sets;
  of->asks = MayAsk(*job);
  if (Closed(queue, of, job, true)) return;
  of->plan = std::make_unique<FlavorPlan>(config_, settings_, usage_.tree(), *queue->spec, *job,
                                          topology_.placer());
  CycleEntry entry = MakeEntry(queue, of, job);
  entry.second_pass = entry.rank.holds_quota = true;
  Assign(&entry);
  entries_.push_back(std::move(entry));
}

// True if a gate keeps the workload out (rule A19); then its verdict is given.
bool Cycle::Closed(CycleQueue* queue, const CycleClass* of, const JobPtr& job, bool second_pass) {
  const AdmissionState& state = StateOf(*job);
  UnadmittedWorkload verdict;
  verdict.job = job;
  verdict.second_pass = second_pass;
  if (AnyCheckIn(*job, CheckState::kRetry) || AnyCheckIn(*job, CheckState::kRejected)) {
    verdict.reason = Reason::kPendingEvaluation;
    verdict.message = "The workload has failed admission checks";
  } else if (queue->known->gate || of->gate) {
    const GateVerdict& gate = queue->known->gate ? *queue->known->gate : *of->gate;
    verdict.reason = gate.reason;
    verdict.message = gate.message;
    verdict.requeue =
        gate.namespace_mismatch ? RequeueReason::kNamespaceMismatch : RequeueReason::kGated;
  } else if (!state.resource_problem.empty()) {
    verdict.reason = Reason::kMisconfigured;
    verdict.message = state.resource_problem;
  } else {
    return false;
  }
  Wait(queue, std::move(verdict));
  return true;
}

CycleEntry Cycle::MakeEntry(CycleQueue* queue, CycleClass* of, const JobPtr& job) const {
  CycleEntry entry;
  entry.job = job;
  entry.queue = queue;
  entry.of = of;
  entry.preemptor = PreemptorOf(queue->node, settings_, *job);
  entry.rank.tier = TierOf(config_, *job);
  entry.rank.priority = entry.preemptor.priority;
  entry.rank.queue_time = entry.preemptor.queue_time;
  entry.rank.sequence = job->accept_seq;
  entry.rank.id = job->id.value;
  return entry;
}

// Where the head's flavor search goes on; null: at the first flavor. The place is forgotten once
// the queue may allocate more, but not in the very next cycle (gate
// FlavorFungibilityPreserveScanProgress, rule A20).
LastAssignmentPtr Cycle::ResumeFrom(const CycleQueue& queue, const JobPtr& job) const {
  LastAssignmentPtr last;
  if (queue.tried) {
    last = queue.last;
  } else if (const auto found = queue.heads->last.find(job->id); found != queue.heads->last.end()) {
    last = found->second;
  }
  if (last == nullptr) return nullptr;
  const bool fresh = settings_.preserve_scan_progress && number_ - last->cycle <= 1;
  return !fresh && queue.heads->generation > last->generation ? nullptr : last;
}

// The holders at the start of the plan.
const Holders& Cycle::HoldersBefore() const {
  static const Holders kNone;
  return snapshot_.holders != nullptr ? *snapshot_.holders : kNone;
}

// The holders at the start of the round. Workloads that this round admits are not among them.
const Holders& Cycle::HoldersNow() {
  if (admitted_before_ == 0) return HoldersBefore();
  if (!overlay_) overlay_ = Holders::Over(HoldersBefore());
  for (; overlaid_ < admitted_before_; ++overlaid_) overlay_->Put(admitted_[overlaid_]);
  return *overlay_;
}

// The running slice that an elastic job's entry replaces (rule A55); null if none.
HolderPtr Cycle::ReplacedSlice(const CycleEntry& entry) const {
  const std::string& key = StateOf(*entry.job).replaces_slice;
  if (key.empty() || !settings_.elastic_jobs || snapshot_.holders == nullptr) return nullptr;
  for (const HolderPtr& holder : snapshot_.holders->Of(entry.queue->node)) {
    if (holder->job->ns + "/" + holder->job->name == key) return holder;
  }
  return nullptr;
}

void Cycle::Assign(CycleEntry* entry) {
  entry->replaced = ReplacedSlice(*entry);
  AssignRequest request;
  if (entry->resumed != nullptr) request.resume = &entry->resumed->tried;
  Search(entry, &request, HoldersNow());
}

// The complete search: all pods, then victims, then fewer pods.
void Cycle::Search(CycleEntry* entry, AssignRequest* request, const Holders& holders) {
  VictimSearch search(settings_, holders, &usage_, snapshot_.local_usages.get());
  request->oracle = &search;
  if (entry->replaced != nullptr) request->replaced = entry->replaced->job->admission.get();
  request->counts = entry->counts;
  const bool found = Try(entry, *request, &search, entry->counts);
  if (!found && entry->counts.empty() && !entry->second_pass &&
      MayBePartial(*entry->job, settings_)) {
    const auto whole = entry->assignment;
    AssignmentPtr fewer;
    std::vector<Victim> victims;
    const auto counts =
        LargestFittingCounts(*entry->job->pod_sets, [&](std::span<const std::int32_t> some) {
          if (!Try(entry, *request, &search, some)) return false;
          fewer = entry->assignment;
          victims = entry->victims;
          return true;
        });
    entry->assignment = counts ? fewer : whole;
    entry->victims = counts ? std::move(victims) : std::vector<Victim>();
    if (counts) entry->counts = *counts;
  }
  request->counts = entry->counts;
  TakeOver(entry);
  if (entry->mode == FlavorMode::kPreempt) PlacePreempting(entry, *request);
}

// One assignment with its victims. True if it fits, now or after evictions.
bool Cycle::Try(CycleEntry* entry, const AssignRequest& request, VictimSearch* search,
                std::span<const std::int32_t> counts) {
  AssignRequest one = request;
  one.counts = counts;
  entry->victims.clear();
  entry->assignment = entry->of->plan->Assign(usage_, *entry->job, one);
  const FlavorMode mode = entry->assignment->Mode();
  const bool replaces_node = entry->second_pass && HasPodsOnUnhealthyNode(*entry->job);
  if (mode != FlavorMode::kPreempt || replaces_node) return mode == FlavorMode::kFit;
  const auto asks = AsksOf(entry, one);
  const Assignment& assignment = *entry->assignment;
  CycleProbe probe(&topology_, *entry->job, asks);
  const Charges wanted =
      TotalRequests(usage_.tree(), entry->of->plan->demand(), assignment, one.replaced);
  const auto contested = assignment.Contested(usage_.tree());
  // The flavor search may have searched for exactly these victims already.
  const auto* known = asks.empty() ? search->Simulated(wanted, contested) : nullptr;
  entry->victims = known != nullptr ? *known
                                    : search->Find(entry->preemptor, wanted, contested,
                                                   asks.empty() ? nullptr : &probe);
  if (!entry->victims.empty() && asks.empty()) {
    MoveVictims(entry, [&](TopologyProbe* room) {
      return search->Find(entry->preemptor, wanted, contested, room);
    });
  }
  return !entry->victims.empty();
}

// The placements on machines that the assignment needs; notes errors and delays in a copy of it.
std::vector<TopologyAsk> Cycle::AsksOf(CycleEntry* entry, const AssignRequest& request) {
  if (topology_.placer() == nullptr || !entry->of->plan->needs_topology()) return {};
  auto changed = std::make_shared<Assignment>(*entry->assignment);
  auto asks = QueueTopology(config_, settings_, *entry->queue->spec, topology_.placer())
                  .Asks(*entry->job, entry->of->plan->demand(), request, changed.get());
  entry->assignment = std::move(changed);
  return asks;
}

// Places the pods of an entry in mode kPreempt: with its victims gone or, without victims, as if no
// placed workload ran. The entry does not start; the machines are only kept from later entries.
void Cycle::PlacePreempting(CycleEntry* entry, const AssignRequest& request) {
  const auto asks = AsksOf(entry, request);
  if (asks.empty() || (entry->second_pass && HasPodsOnUnhealthyNode(*entry->job))) return;
  for (const Victim& victim : entry->victims) {
    topology_.usage()->Release(topology_.ChargesOf(*victim.holder->job));
  }
  const TopologyPlacement place =
      topology_.placer()->Place(*entry->job, asks, entry->victims.empty());
  for (const Victim& victim : entry->victims) {
    topology_.usage()->Charge(topology_.ChargesOf(*victim.holder->job));
  }
  if (place.failed) return;
  const PodSets& pod_sets = *entry->job->pod_sets;
  auto placed = std::make_shared<Assignment>(*entry->assignment);
  placed->cluster = place.cluster;
  for (const auto& [index, topology] : place.placed) {
    for (auto& pod_set : placed->pod_sets) {
      if (pod_set.name == pod_sets[index].name) pod_set.topology = topology;
    }
  }
  entry->assignment = std::move(placed);
  TakeOver(entry);
}

// Sets the fields of the entry that follow from its assignment.
void Cycle::TakeOver(CycleEntry* entry) {
  const Assignment& assignment = *entry->assignment;
  entry->choice = nullptr;
  entry->mode = assignment.Mode();
  entry->rank.level = assignment.borrowing_level;
  entry->adds = assignment.usage;
  entry->admission.reset();
  entry->machines = {};
  if (entry->mode == FlavorMode::kNoFit) return;
  // An entry that has to wait needs an admission only to keep its machines from others.
  if (entry->mode == FlavorMode::kPreempt && !topology_.has_machines() && !entry->second_pass)
    return;
  entry->admission = assignment.ToAdmission(entry->queue->spec->name);
  const JobRecord* held = nullptr;
  if (entry->second_pass) {
    held = entry->job.get();
    entry->adds = Beyond(std::move(entry->adds), ChargesOf(usage_.tree(), *held->admission));
  } else if (entry->replaced != nullptr) {
    held = entry->replaced->job.get();
  }
  entry->machines =
      topology_.NetChargesOf(*entry->job, *entry->admission, held, assignment.cluster);
}

}  // namespace muster::core
