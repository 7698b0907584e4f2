// Cycle: processing one entry against what the earlier entries of its round took (rule A23; the
// letters in Process are its steps).
//
// An entry was nominated on the state at the start of the round. By its turn, earlier entries may
// have taken its quota, its machines or its victims. If its victims are taken, or quota fits and
// machines do not, the assignment is made anew (Refresh), limited to the flavors of the nomination.
// All checks count as gone the victims of earlier entries and its own (Fits), because that is the
// state in which the entry will start.
//
// The usage and the holders without the round's victims are kept beside the others
// (without_victims_, left_), so an entry costs its own victims and not those of all entries.
//
// An entry that waits keeps its requests as used until the end of the round (rule A24): otherwise
// smaller workloads behind it would take the room in every cycle. An entry with victims gets
// nothing yet: they are marked, and it competes again when they are gone.
#include <algorithm>

#include "schedd/core/cycle/cycle_impl.h"
#include "schedd/core/plan/preemption_reserve.h"
#include "schedd/model/admission_lifecycle.h"

namespace muster::core {
namespace {

constexpr const char* kNoLongerFits = "Workload no longer fits after processing another workload";
constexpr const char* kOverlaps =
    "Workload has overlapping preemption targets with another workload";
constexpr const char* kDeferredFit =
    "Workload has overlapping preemption targets with another workload, but will fit after these "
    "preemptions complete";
constexpr const char* kGatedText = "Workload requires preemption, but it's gated";
constexpr const char* kVariantDone = "A more favorable variant is already admitted";
constexpr const char* kBelowLastAcceptable = "Target flavor is below LastAcceptableFlavorName";
constexpr const char* kPodsReadyText =
    "waiting for all admitted workloads to be in PodsReady condition";

void Discharge(Usage* usage, const Holder& holder) {
  for (const Charge& charge : holder.charges)
    usage->Remove(holder.queue, charge.pair, charge.amount);
}

// Position of a flavor in the queue's order; the end if the queue does not have it.
std::size_t PositionOf(const ClusterQueue& queue, const std::string& flavor) {
  std::size_t position = 0;
  for (const auto& group : queue.resource_groups) {
    for (const auto& entry : group.flavors) {
      if (entry.flavor == flavor) return position;
      ++position;
    }
  }
  return position;
}

// Position, in the queue's order of flavors, of the first flavor that a variant may have; the end
// if none.
std::size_t Favor(const ClusterQueue& queue, const JobRecord& variant) {
  std::size_t position = 0;
  const auto& allowed = StateOf(variant).allowed_flavors;
  for (const auto& group : queue.resource_groups) {
    for (const auto& flavor : group.flavors) {
      if (allowed && std::find(allowed->begin(), allowed->end(), flavor.flavor) != allowed->end()) {
        return position;
      }
      ++position;
    }
  }
  return position;
}

// True if the quota holds the entry beside what is held now and `taken`.
bool FitsBeside(Usage usage, const std::vector<std::pair<NodeIndex, Charge>>& taken,
                const CycleEntry& entry) {
  for (const auto& [queue, charge] : taken) usage.Add(queue, charge.pair, charge.amount);
  const auto adds = entry.Adds();
  return std::all_of(adds.begin(), adds.end(), [&](const Charge& charge) {
    return usage.Fits(entry.queue->node, charge.pair, charge.amount);
  });
}

}  // namespace

void Cycle::Process(CycleEntry* entry) {
  HolderPtr less_favorable;
  if (VariantIsDone(entry, &less_favorable)) {  // a
    Skip(entry, Reason::kPendingEvaluation, kVariantDone);
    return;
  }
  Fit fit;
  if (entry->mode != FlavorMode::kNoFit) Refresh(entry, &fit);  // b
  if (ReplaceNodeFailed(entry)) return;                         // c
  if (entry->mode == FlavorMode::kNoFit) {                      // d
    if (MakeRoom(entry)) return;
    Wait(entry->queue, Verdict(*entry, entry->assignment->no_fit_reason,
                               entry->assignment->Message(), RequeueReason::kNoFit));
    return;
  }
  if (entry->mode == FlavorMode::kPreempt && entry->victims.empty()) {  // e
    if (MakeRoom(entry)) return;
    Reserve(*entry);
    Wait(entry->queue, Verdict(*entry, Reason::kWaitingForQuota, entry->assignment->Message(),
                               RequeueReason::kPreemptionNoCandidates));
    return;
  }
  if (entry->mode == FlavorMode::kPreempt && !RoomAfter(entry)) return;
  if (entry->mode == FlavorMode::kPreempt && WaitsForGate(*entry)) return;  // f
  if (entry->deferred) {                                                    // g
    KeepFromOthers(*entry, entry->Adds());
    UnadmittedWorkload verdict = Verdict(*entry, Reason::kWaitingForPreemptedWorkloads,
                                         kDeferredFit, RequeueReason::kPendingPreemption);
    verdict.last.reset();
    Wait(entry->queue, std::move(verdict));
    return;
  }
  if (Overlaps(*entry)) {  // h
    plan_.recomputations.push_back({entry->queue->spec->name, Recomputation::Result::kSkipped});
    Skip(entry, Reason::kWaitingForQuota, kOverlaps);
    return;
  }
  if (!fit.both()) {  // i
    Skip(entry, Reason::kWaitingForQuota, kNoLongerFits);
    return;
  }
  if (entry->mode == FlavorMode::kPreempt) {
    Preempt(entry, entry->assignment->Message());  // j, k
  } else if (less_favorable != nullptr) {
    Migrate(entry, less_favorable);
  } else if (without_victims_ && !FitsBeside(nominated_on_, taken_, *entry)) {
    // The victims of the round still hold their quota.
    Skip(entry, Reason::kWaitingForQuota, kNoLongerFits);
  } else {
    Admit(entry);  // j, l, m
  }
}

// True if a preemption gate forbids the entry to evict (rule A56); then its verdict is given.
bool Cycle::WaitsForGate(const CycleEntry& entry) {
  if (!PreemptionIsGated(*entry.job, settings_)) return false;
  UnadmittedWorkload verdict =
      Verdict(entry, Reason::kAdmissionGated, kGatedText, RequeueReason::kPreemptionGated);
  verdict.preemption_gated = true;
  Wait(entry.queue, std::move(verdict));
  return true;
}

// True if an earlier entry of the round has chosen one of its victims.
bool Cycle::Overlaps(const CycleEntry& entry) const {
  return std::any_of(entry.victims.begin(), entry.victims.end(), [this](const Victim& victim) {
    return is_preempted_.contains(victim.holder->id);
  });
}

// Whether quota and machines hold the entry once all victims of the round and its own are gone.
Cycle::Fit Cycle::Fits(const CycleEntry& entry) {
  std::vector<const Holder*> own;
  for (const Victim& victim : entry.victims) {
    if (!is_preempted_.contains(victim.holder->id)) own.push_back(victim.holder.get());
  }
  Usage& usage = without_victims_ ? *without_victims_ : usage_;
  for (const Holder* holder : own) Discharge(&usage, *holder);
  Fit fit;
  const auto adds = entry.Adds();
  fit.quota = std::all_of(adds.begin(), adds.end(), [&](const Charge& charge) {
    return usage.Fits(entry.queue->node, charge.pair, charge.amount);
  });
  for (const Holder* holder : own) {
    for (const Charge& charge : holder->charges)
      usage.Add(holder->queue, charge.pair, charge.amount);
  }
  fit.machines = entry.machines.empty() || MachinesFit(entry, own);
  return fit;
}

// `own`: the entry's victims that are not among the round's victims yet.
bool Cycle::MachinesFit(const CycleEntry& entry, const std::vector<const Holder*>& own) {
  TopologyUsage* machines = topology_.usage();
  const auto release = [&](const Holder& holder) {
    machines->Release(topology_.ChargesOf(*holder.job));
  };
  const auto charge = [&](const Holder& holder) {
    machines->Charge(topology_.ChargesOf(*holder.job));
  };
  ForEachPreempted(release);
  for (const Holder* holder : own) release(*holder);
  const bool fits = machines->Fits(entry.machines);
  ForEachPreempted(charge);
  for (const Holder* holder : own) charge(*holder);
  return fits;
}

// Visits the round's victims; none without machines, because then no caller needs them.
template <class Visit>
void Cycle::ForEachPreempted(const Visit& visit) const {
  if (topology_.has_machines()) {
    for (const HolderPtr& holder : preempted_) visit(*holder);
  }
}

// HoldersNow without the victims of the round.
const Holders& Cycle::HoldersLeft() {
  if (!left_) left_ = Holders::Over(HoldersBefore());
  for (; left_admitted_ < admitted_before_; ++left_admitted_) left_->Put(admitted_[left_admitted_]);
  for (; left_preempted_ < preempted_.size(); ++left_preempted_)
    left_->Erase(preempted_[left_preempted_]->id);
  return *left_;
}

// Step b: makes the assignment anew if that may help.
void Cycle::Refresh(CycleEntry* entry, Fit* fit) {
  *fit = Fits(*entry);
  if (Overlaps(*entry) && settings_.recompute_on_overlap) {
    RecomputeWithoutVictims(entry);
  } else if (fit->quota && !fit->machines && settings_.tas_recompute_in_cycle) {
    Recompute(entry, HoldersNow());
  } else {
    return;
  }
  *fit = Fits(*entry);
}

// Step b: the entry's victims were chosen by others. The search runs on the state without them; a
// fit there is a deferred fit.
void Cycle::RecomputeWithoutVictims(CycleEntry* entry) {
  ForEachPreempted([this](const Holder& holder) {
    topology_.usage()->Release(topology_.ChargesOf(*holder.job));
  });
  std::swap(usage_, *without_victims_);
  Recompute(entry, HoldersLeft());
  std::swap(usage_, *without_victims_);
  ForEachPreempted([this](const Holder& holder) {
    topology_.usage()->Charge(topology_.ChargesOf(*holder.job));
  });
  entry->deferred = entry->mode == FlavorMode::kFit;
  using Result = Recomputation::Result;
  const Result nobody_else = entry->victims.empty() ? Result::kSkipped : Result::kNewTargets;
  plan_.recomputations.push_back(
      {entry->queue->spec->name, entry->deferred ? Result::kDeferredFit : nobody_else});
}

// Searches from the first flavor on, but only the flavors of the nomination.
void Cycle::Recompute(CycleEntry* entry, const Holders& holders) {
  if (entry->assignment == nullptr) return;
  const FlavorPins pins = PinsOf(*entry->assignment);
  // The search begins with all pods again, even if the nomination had fewer.
  entry->counts.clear();
  AssignRequest request;
  request.pins = &pins;
  Search(entry, &request, holders);
}

// Step a (rule A57): true if a sibling on a better flavor is admitted. A sibling on a worse flavor
// is returned in `less_favorable`: it is evicted for this entry.
bool Cycle::VariantIsDone(CycleEntry* entry, HolderPtr* less_favorable) const {
  const AdmissionState& state = StateOf(*entry->job);
  if (!settings_.concurrent_admission || state.concurrent_parent.empty() || entry->second_pass ||
      snapshot_.holders == nullptr) {
    return false;
  }
  // A sibling that this plan admits counts as better; the next plan sees it as a holder.
  for (const HolderPtr& holder : admitted_) {
    if (StateOf(*holder->job).concurrent_parent == state.concurrent_parent) return true;
  }
  const std::size_t own = Favor(*entry->queue->spec, *entry->job);
  for (const HolderPtr& holder : snapshot_.holders->Of(entry->queue->node)) {
    const JobRecord& sibling = *holder->job;
    if (sibling.id == entry->job->id || !IsTrue(sibling, "Admitted")) continue;
    if (StateOf(sibling).concurrent_parent != state.concurrent_parent) continue;
    const std::size_t its = Favor(*entry->queue->spec, sibling);
    if (its < own) return true;
    if (its > own) *less_favorable = holder;
  }
  return false;
}

// Step c: a second pass that finds no other machine is evicted (fail fast), because waiting would
// hold its quota in vain.
bool Cycle::ReplaceNodeFailed(CycleEntry* entry) {
  if (!entry->second_pass || entry->mode == FlavorMode::kFit ||
      !HasPodsOnUnhealthyNode(*entry->job) || !settings_.tas_failed_node_replacement ||
      !settings_.tas_fail_fast) {
    return false;
  }
  Eviction eviction;
  eviction.victim = entry->job;
  eviction.reason = Reason::kNodeFailures;
  eviction.detail = entry->assignment->Message();
  Evict(std::move(eviction));
  return true;
}

// Charges an admitted entry.
void Cycle::Take(const CycleEntry& entry) {
  for (const Charge& charge : entry.Adds()) {
    Add(entry.queue->node, charge);
    taken_.emplace_back(entry.queue->node, charge);
  }
  topology_.usage()->Charge(entry.machines);
}

// Charges both usages: with and without the round's victims.
void Cycle::Add(NodeIndex queue, const Charge& charge) {
  usage_.Add(queue, charge.pair, charge.amount);
  if (without_victims_) without_victims_->Add(queue, charge.pair, charge.amount);
}

// Step e: keeps what the entry waits for from later entries, unless its queue can always take it
// back (rule A24).
void Cycle::Reserve(const CycleEntry& entry) {
  if (entry.queue->spec->preemption.reclaim_within_cohort == PreemptionPolicy::kAny) return;
  KeepFromOthers(entry, ResourcesToReserve(usage_, entry.queue->node, *entry.assignment));
}

// Keeps charges and machines until the end of the round.
void Cycle::KeepFromOthers(const CycleEntry& entry, std::span<const Charge> charges) {
  for (const Charge& charge : charges) Add(entry.queue->node, charge);
  topology_.usage()->Charge(entry.machines);
  reserved_ = true;
  if (!entry.machines.empty()) reserved_machines_.push_back(entry.machines);
}

// Step k: marks the victims and keeps what the entry asks for. The entry goes back as the sticky
// preemptor of its queue, and its flavor search starts over.
void Cycle::Preempt(CycleEntry* entry, const std::string& why) {
  if (!without_victims_) without_victims_ = usage_;
  for (const Victim& victim : entry->victims) {
    if (!is_preempted_.insert(victim.holder->id).second) continue;
    preempted_.push_back(victim.holder);
    Discharge(&*without_victims_, *victim.holder);
  }
  KeepFromOthers(*entry, entry->Adds());
  const QuotaTree& tree = usage_.tree();
  for (const Victim& victim : entry->victims) {
    // Evicted by an earlier plan: it is being stopped already and is not listed again.
    if (victim.holder->evicted) continue;
    Eviction eviction;
    eviction.victim = victim.holder->job;
    eviction.reason = Reason::kPreempted;
    eviction.preemption_reason = victim.reason;
    eviction.preemptor = entry->job;
    eviction.preemptor_path = tree.Path(entry->queue->node);
    eviction.victim_path = tree.Path(victim.holder->queue);
    Evict(std::move(eviction));
  }
  UnadmittedWorkload verdict = Verdict(
      *entry, Reason::kWaitingForPreemptedWorkloads,
      why + ". Pending the preemption of " + std::to_string(entry->victims.size()) + " workload(s)",
      RequeueReason::kPendingPreemption);
  verdict.last.reset();
  Wait(entry->queue, std::move(verdict));
}

// A running sibling moves only to flavors down to lastAcceptableFlavorName (KEP-8691).
bool Cycle::MayMigrate(const CycleEntry& entry) const {
  const ClusterQueue& queue = *entry.queue->spec;
  if (!queue.concurrent_admission) return true;
  const std::string& last = queue.concurrent_admission->last_acceptable_flavor;
  return last.empty() || Favor(queue, *entry.job) <= PositionOf(queue, last);
}

// Evicts the sibling on a worse flavor, so that this variant can start in its place (rule A57).
void Cycle::Migrate(CycleEntry* entry, const HolderPtr& sibling) {
  if (!MayMigrate(*entry)) {
    KeepFromOthers(*entry, entry->Adds());
    Wait(entry->queue, Verdict(*entry, Reason::kPendingEvaluation, kBelowLastAcceptable,
                               RequeueReason::kGeneric));
    return;
  }
  if (!RoomToMove(entry, *sibling)) return;
  KeepFromOthers(*entry, entry->Adds());
  if (!sibling->evicted) {
    Eviction eviction;
    eviction.victim = sibling->job;
    eviction.reason = Reason::kFlavorMigration;
    eviction.preemptor = entry->job;
    Evict(std::move(eviction));
  }
  const std::string message = entry->assignment != nullptr ? entry->assignment->Message() : "";
  UnadmittedWorkload verdict = Verdict(*entry, Reason::kWaitingForPreemptedWorkloads,
                                       message + ". Pending the migration of 1 workload(s)",
                                       RequeueReason::kPendingMigration);
  verdict.last.reset();
  Wait(entry->queue, std::move(verdict));
}

// Steps l and m. The new holder is not a candidate for evictions before the next round.
void Cycle::Admit(CycleEntry* entry) {
  const WaitForPodsReady& pods_ready = settings_.pods_ready;
  if (pods_ready.enabled && pods_ready.block_admission && pods_not_ready_ && !entry->second_pass) {
    stopped_ = plan_.wait_for_pods_ready = true;
    Wait(entry->queue, Verdict(*entry, Reason::kWaitingForPodsReady, kPodsReadyText,
                               RequeueReason::kFailedAfterNomination));
    return;
  }
  core::PlannedAdmission admit;
  if (!Place(entry, &admit)) return;
  Take(*entry);
  admit.job = entry->job;
  admit.admission = entry->admission;
  admit.borrowing_level = entry->rank.level;
  admit.second_pass = entry->second_pass;
  if (entry->replaced != nullptr) admit.replaced = entry->replaced->job;
  if (input_.keep_assignments) admit.assignment = entry->assignment;
  plan_.admits.push_back(std::move(admit));
  progress_ = true;
  if (entry->second_pass) return;
  pods_not_ready_ = true;
  auto holder = std::make_shared<Holder>();
  holder->job = entry->job;
  holder->uid = entry->job->uid;
  holder->id = entry->job->id;
  holder->queue = entry->queue->node;
  holder->charges.assign(entry->Adds().begin(), entry->Adds().end());
  holder->priority = entry->preemptor.priority;
  holder->queue_time = entry->preemptor.queue_time;
  holder->reserved_at = snapshot_.now;
  admitted_.push_back(std::move(holder));
  ForgetRoom(entry->queue, *entry->job);
  entry->queue->waiting.reset();
  entry->queue->tried = false;
  entry->queue->last.reset();
  ++entry->queue->next;
}

}  // namespace muster::core
