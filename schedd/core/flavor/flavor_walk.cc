// FlavorWalk: the flavor search of rules A27 to A31 (KEP-582) over compiled steps.
//
// For each batch and step the flavors of the group are tried in their order, from behind the one
// where the last search ended. Each flavor is judged for all resources of the step (rule A29) and
// gets the score of the resource that it serves worst. The scan ends at the first flavor at which
// the queue's fungibility lets it end (rule A31); if there is none, the best one is taken (rule
// A30). What a batch takes counts as used for the batches after it.
//
// The quick walk has no oracle. It may pass over a flavor that needs victims only if a flavor that
// fits is better whatever the oracle would say: with whenCanPreempt TryNextFlavor and the
// preference BorrowingOverPreemption. If no flavor fits after that, the search is left to Assign.
#include "schedd/core/flavor/flavor_walk.h"

#include <algorithm>

#include "schedd/base/quantity.h"

namespace muster::core {
namespace {

// The option of a step that was not scanned.
constexpr std::int16_t kHeldOption = -1;

// Null if the reservation has no flavor for the resource.
const std::string* FlavorOf(const PodSetAssignment& pod_set, const std::string& resource) {
  const auto found = pod_set.flavors.find(resource);
  return found == pod_set.flavors.end() ? nullptr : &found->second;
}

// What earlier batches took of a pair.
std::int64_t AssumedFor(const Charges& assumed, FlavorResourceIndex pair) {
  for (const auto& charge : assumed) {
    if (charge.pair == pair) return charge.amount;
  }
  return 0;
}

Grade GradeOf(PreemptionOutlook::Possibility possibility) {
  switch (possibility) {
    case PreemptionOutlook::Possibility::kPreempt:
      return Grade::kPreempt;
    case PreemptionOutlook::Possibility::kReclaim:
      return Grade::kReclaim;
    case PreemptionOutlook::Possibility::kNoCandidates:
      break;
  }
  return Grade::kNoCandidates;
}

}  // namespace

// Second passes keep their flavors only with topology aware scheduling, slices only with the gate
// for elastic jobs.
FlavorWalk::FlavorWalk(const FlavorPlan& plan, const Usage& usage, const AssignRequest& request,
                       const JobRecord* job, FlavorTrace* trace)
    : plan_(plan), usage_(usage), request_(request), job_(job), trace_(trace) {
  if (job == nullptr) return;
  if (plan.settings_.tas) held_ = job->admission.get();
  if (request.replaced == nullptr || !plan.settings_.elastic_jobs) return;
  for (const auto& demand : plan.demand_) {
    replaced_.push_back(request.replaced->Find(demand.pod_set->name));
  }
}

QuickVerdict::Kind FlavorWalk::Run(std::vector<std::int16_t>* options, Charges* assumed,
                                   std::int32_t* level) {
  options_ = options;
  assumed_ = assumed;
  options_->clear();
  assumed_->clear();
  for (std::size_t b = 0; b < plan_.batches_.size(); ++b) {
    const std::size_t first_step = options_->size();
    for (std::size_t s = 0; s < plan_.batches_[b].steps.size(); ++s) {
      const End end = RunStep(b, s);
      if (end == End::kNeedsSearch) return QuickVerdict::Kind::kNeedsSearch;
      if (end == End::kFailed) return QuickVerdict::Kind::kNoFit;
    }
    TakeBatch(plan_.batches_[b], first_step);
  }
  *level = level_;
  return all_fit_ ? QuickVerdict::Kind::kFits : QuickVerdict::Kind::kNoVictims;
}

// A resource that no group covers fails the batch unless it asks for 0; a step whose resources all
// have a reserved flavor is not scanned.
FlavorWalk::End FlavorWalk::RunStep(std::size_t batch, std::size_t step) {
  const FlavorBatch& sets = plan_.batches_[batch];
  const FlavorStep& of = sets.steps[step];
  StepTrace* trace = nullptr;
  if (trace_ != nullptr) {
    trace = &trace_->emplace_back();
    trace->batch = batch;
    trace->step = step;
  }
  if (of.uncovered) {
    if (Wanted(of.needs[0]) != 0) return End::kFailed;
    options_->push_back(kHeldOption);
    if (trace != nullptr) trace->held = true;
    return End::kServed;
  }
  const bool held = held_ != nullptr &&
                    std::all_of(of.needs.begin(), of.needs.end(), [&](const FlavorNeed& need) {
                      return !need.decides || IsHeld(sets, need);
                    });
  if (!held) return Scan(sets, of, trace);
  options_->push_back(kHeldOption);
  trace->held = true;
  return End::kServed;
}

// Tries the flavors of one resource group in order (rule A31). Without the gate FlavorFungibility
// the first flavor that fits, or else the first of the best grade, is taken.
FlavorWalk::End FlavorWalk::Scan(const FlavorBatch& batch, const FlavorStep& step,
                                 StepTrace* trace) {
  const ClusterQueue& queue = plan_.spec_;
  const bool fungible = plan_.settings_.flavor_fungibility;
  // Without an oracle: true if a later flavor that fits is better than one that needs victims,
  // whatever the oracle would say.
  const bool may_pass = queue.when_can_preempt == FungibilityPolicy::kTryNextFlavor &&
                        queue.preference == FungibilityPreference::kBorrowingOverPreemption;
  Judgement best;
  std::int32_t chosen = -1;
  std::size_t last = 0;
  for (std::size_t i = FirstOption(batch, step); i < step.options.size(); ++i) {
    last = i;
    OptionTrace* note = trace == nullptr ? nullptr : &trace->options.emplace_back();
    const bool pinned_out = PinnedOut(batch, step, step.options[i].flavor);
    if (note != nullptr) {
      note->option = i;
      note->pinned_out = pinned_out;
    }
    if (pinned_out || step.options[i].refusal != FlavorOption::Refusal::kNone) continue;
    const Judgement judged = JudgeOption(batch, step, i, note);
    if (judged.unknown && !(may_pass || !fungible)) return End::kNeedsSearch;
    const bool stop = fungible ? MayStop(judged.score, queue) : judged.score.grade == Grade::kFit;
    const bool better = fungible ? Better(judged.score, best.score, queue.preference)
                                 : judged.score.grade > best.score.grade;
    if (stop || better) {
      best = judged;
      chosen = static_cast<std::int32_t>(i);
      if (trace != nullptr) trace->chosen = static_cast<std::int32_t>(trace->options.size()) - 1;
    }
    if (stop) break;
  }
  if (chosen < 0) return End::kFailed;
  if (best.unknown) return End::kNeedsSearch;
  options_->push_back(static_cast<std::int16_t>(chosen));
  level_ = std::max(level_, best.level);
  all_fit_ = all_fit_ && best.fits;
  // After the last flavor of the group the next search starts over.
  if (trace != nullptr && fungible) {
    trace->tried_idx = last + 1 == step.options.size() ? -1 : static_cast<std::int32_t>(last);
  }
  return End::kServed;
}

// The score of a flavor is that of the resource it serves worst; all resources are judged even
// after one does not fit (rule A30). With PreemptionOverBorrowing the worst one may be a resource
// that fits at a high borrowing level; then the score is a fit although another resource needs
// victims, and `fits` is false.
FlavorWalk::Judgement FlavorWalk::JudgeOption(const FlavorBatch& batch, const FlavorStep& step,
                                              std::size_t option, OptionTrace* trace) {
  Judgement result;
  result.score = {Grade::kFit, 0};
  const FlavorOption& flavor = step.options[option];
  for (std::size_t n = 0; n < step.needs.size(); ++n) {
    NeedTrace need;
    need.amount = Wanted(step.needs[n]);
    need.assumed = AssumedFor(*assumed_, flavor.pairs[n]);
    if (!replaced_.empty()) NoteReplaced(batch, step.needs[n], flavor.flavor, &need);
    if (need.other_flavor) result.score = {};
    JudgeNeed(flavor.pairs[n], &need, &result.unknown);
    result.level = std::max(result.level, need.level);
    result.fits = result.fits && need.grade == Grade::kFit;
    const FlavorScore score{need.grade, need.level};
    if (Better(result.score, score, plan_.spec_.preference)) result.score = score;
    if (trace != nullptr) trace->needs.push_back(need);
  }
  if (result.score.grade == Grade::kNoFit) result.unknown = false;
  if (trace != nullptr) trace->score = result.score;
  return result;
}

// Rule A29. Without an oracle, a need that evictions might serve is `unknown` and counts as
// kPreempt, unless the queue may evict nobody.
void FlavorWalk::JudgeNeed(FlavorResourceIndex pair, NeedTrace* need, bool* unknown) {
  const std::int64_t amount = SaturatingAdd(need->assumed, need->amount);
  const std::int64_t potential = pair < 0 ? 0 : usage_.Potential(plan_.queue_, pair);
  need->potential = potential;
  if (amount > potential || amount == kUnlimited) {
    need->exceeds = true;
    return;
  }
  // A pair without quota has potential 0, so the amount is 0 here.
  if (pair < 0) {
    need->grade = Grade::kFit;
    return;
  }
  need->level = usage_.BorrowingLevel(plan_.queue_, pair, amount);
  if (usage_.Fits(plan_.queue_, pair, amount)) {
    need->grade = Grade::kFit;
    return;
  }
  if (trace_ != nullptr) need->available = usage_.Available(plan_.queue_, pair);
  const auto& quota = usage_.tree().node(plan_.queue_).quotas[static_cast<std::size_t>(pair)];
  if (quota.nominal < amount && !plan_.evicts_while_borrowing_ &&
      !usage_.EndsBelowRoot(plan_.queue_, pair, amount)) {
    return;
  }
  need->grade = Grade::kNoCandidates;
  if (trace_ == nullptr) {
    *unknown = *unknown || plan_.may_evict_;
    if (plan_.may_evict_) need->grade = Grade::kPreempt;
  } else if (request_.oracle != nullptr) {
    const PreemptionOutlook outlook =
        request_.oracle->Simulate(PreemptorOf(plan_.queue_, plan_.settings_, *job_), pair, amount);
    need->grade = GradeOf(outlook.possibility);
    need->level = outlook.borrowing_level;
  }
}

std::int64_t FlavorWalk::Wanted(const FlavorNeed& need) const {
  if (request_.counts.empty()) return need.amount;
  std::int64_t amount = 0;
  for (const auto& part : need.parts) {
    amount = SaturatingAdd(amount, SaturatingMul(part.per_pod, request_.counts[part.pod_set]));
  }
  return amount;
}

// What the slice that is replaced holds of a resource already.
std::int64_t FlavorWalk::Replaced(const FlavorBatch& batch, const FlavorNeed& need) const {
  std::int64_t amount = 0;
  if (replaced_.empty()) return amount;
  for (const std::size_t pod_set : batch.pod_sets) {
    const PodSetAssignment* before = replaced_[pod_set];
    if (before != nullptr) amount = SaturatingAdd(amount, AmountOf(before->usage, need.resource));
  }
  return amount;
}

// A slice stays on the flavors of the one it replaces and asks for the difference (rule A55).
void FlavorWalk::NoteReplaced(const FlavorBatch& batch, const FlavorNeed& need,
                              const std::string& flavor, NeedTrace* trace) const {
  for (const std::size_t pod_set : batch.pod_sets) {
    const PodSetAssignment* before = replaced_[pod_set];
    const std::string* runs_on = before == nullptr ? nullptr : FlavorOf(*before, need.resource);
    if (runs_on == nullptr || *runs_on != flavor) {
      trace->other_flavor = true;
      trace->replaced_flavor = runs_on;
      return;
    }
    trace->amount = SaturatingSub(trace->amount, AmountOf(before->usage, need.resource));
  }
}

// True if a recomputation is limited to other flavors (rule A23, step b).
bool FlavorWalk::PinnedOut(const FlavorBatch& batch, const FlavorStep& step,
                           const std::string& flavor) const {
  if (request_.pins == nullptr) return false;
  return std::none_of(batch.pod_sets.begin(), batch.pod_sets.end(), [&](std::size_t pod_set) {
    const auto of = request_.pins->find(plan_.demand_[pod_set].pod_set->name);
    if (of == request_.pins->end()) return false;
    const auto pin = of->second.find(step.needs[step.trigger].resource);
    return pin != of->second.end() && pin->second == flavor;
  });
}

const PodSetAssignment* FlavorWalk::HeldPodSet(std::size_t pod_set) const {
  return held_ == nullptr ? nullptr : held_->Find(plan_.demand_[pod_set].pod_set->name);
}

const std::string* FlavorWalk::Held(std::size_t pod_set, const std::string& resource) const {
  const PodSetAssignment* of = HeldPodSet(pod_set);
  return of == nullptr ? nullptr : FlavorOf(*of, resource);
}

// True if a reservation gives some pod set of the batch a flavor for this resource.
bool FlavorWalk::IsHeld(const FlavorBatch& batch, const FlavorNeed& need) const {
  return std::any_of(batch.pod_sets.begin(), batch.pod_sets.end(),
                     [&](std::size_t pod_set) { return Held(pod_set, need.resource) != nullptr; });
}

// The flavor to start at: behind the one where the last search ended (rule A20), else the first.
std::size_t FlavorWalk::FirstOption(const FlavorBatch& batch, const FlavorStep& step) const {
  const std::size_t pod_set = batch.pod_sets.front();
  if (request_.resume == nullptr || !plan_.settings_.flavor_fungibility ||
      pod_set >= request_.resume->size()) {
    return 0;
  }
  const auto& tried = (*request_.resume)[pod_set];
  const auto found = tried.find(step.needs[step.trigger].resource);
  const auto next = found == tried.end() ? 0 : static_cast<std::size_t>(found->second + 1);
  // The group may have become shorter since the last search.
  return next < step.options.size() ? next : 0;
}

// Adds the charges of a batch that is served: of scanned steps the wanted amounts less those of a
// replaced slice, of held steps the reserved amounts.
void FlavorWalk::TakeBatch(const FlavorBatch& batch, std::size_t first_step) {
  for (std::size_t s = 0; s < batch.steps.size(); ++s) {
    const FlavorStep& step = batch.steps[s];
    const std::int16_t option = (*options_)[first_step + s];
    for (std::size_t n = 0; n < step.needs.size(); ++n) {
      const FlavorNeed& need = step.needs[n];
      if (step.uncovered || !need.decides) continue;
      if (option != kHeldOption) {
        Assume(step.options[static_cast<std::size_t>(option)].pairs[n],
               SaturatingSub(Wanted(need), Replaced(batch, need)));
        continue;
      }
      for (const auto& part : need.parts) {
        const std::string* flavor = Held(part.pod_set, need.resource);
        if (flavor == nullptr) continue;
        Assume(usage_.tree().PairIndex(*flavor, need.resource),
               SaturatingMul(part.per_pod, plan_.demand_[part.pod_set].count));
      }
    }
  }
}

void FlavorWalk::Assume(FlavorResourceIndex pair, std::int64_t amount) {
  if (pair < 0) return;
  for (auto& charge : *assumed_) {
    if (charge.pair != pair) continue;
    charge.amount = SaturatingAdd(charge.amount, amount);
    return;
  }
  assumed_->push_back({pair, amount});
}

}  // namespace muster::core
