// FlavorReport: the trace of a flavor search in Kueue's words (rules A31, A33).
//
// The walk decides on numbers; here every option that it looked at becomes an attempt with its
// sentences, every step a set of flavors, every batch the flavors of its pod sets. If a step finds
// no flavor, its batch fails: it keeps no flavors and only the sentences of that step, and the
// batches behind it are not reported, as in Kueue.
//
// no_fit_reason (ResolveNoFit): of the flavors of one resource group the mildest reason counts,
// because any of them would do; of groups and pod sets the most severe one, because all are needed.
#include "schedd/core/flavor/flavor_report.h"

#include <algorithm>
#include <iterator>

#include "schedd/base/quantity.h"
#include "schedd/core/flavor/flavor_compile.h"

namespace muster::core {
namespace {

// More than the queue could ever have.
std::string InsufficientQuota(const std::string& resource, const std::string& flavor,
                              const NeedTrace& need) {
  const auto amount = [&](std::int64_t value) { return CanonicalQuantity(resource, value); };
  return "insufficient quota for " + resource + " in flavor " + flavor +
         ", previously considered podsets requests (" + amount(need.assumed) +
         ") + current podset request (" + amount(need.amount) + ") > maximum capacity (" +
         amount(need.potential) + ")";
}

// More than is free now.
std::string InsufficientUnused(const std::string& resource, const std::string& flavor,
                               std::int64_t missing) {
  return "insufficient unused quota for " + resource + " in flavor " + flavor + ", " +
         CanonicalQuantity(resource, missing) + " more needed";
}

Reason ReasonOf(const NeedTrace& need) {
  if (need.exceeds) return Reason::kExceedsMaxQuota;
  return need.grade == Grade::kNoFit ? Reason::kWaitingForQuota : Reason::kNone;
}

// Unset for grades that no oracle was asked for: fit and no fit.
std::optional<PreemptionOutlook::Possibility> PossibilityOf(Grade grade) {
  switch (grade) {
    case Grade::kNoCandidates:
      return PreemptionOutlook::Possibility::kNoCandidates;
    case Grade::kPreempt:
      return PreemptionOutlook::Possibility::kPreempt;
    case Grade::kReclaim:
      return PreemptionOutlook::Possibility::kReclaim;
    default:
      return std::nullopt;
  }
}

void SortUnique(std::vector<std::string>* sentences) {
  std::sort(sentences->begin(), sentences->end());
  sentences->erase(std::unique(sentences->begin(), sentences->end()), sentences->end());
}

// The worst of two attempts with the same flavor.
void MergeAttempt(const FlavorAttempt& from, FlavorAttempt* into) {
  into->mode = std::min(into->mode, from.mode);
  into->borrowing_level = std::max(into->borrowing_level, from.borrowing_level);
  if (from.preemption && (!into->preemption || *from.preemption < *into->preemption)) {
    into->preemption = from.preemption;
  }
  into->no_fit_reason = MoreSevere(into->no_fit_reason, from.no_fit_reason);
  into->reasons.insert(into->reasons.end(), from.reasons.begin(), from.reasons.end());
  SortUnique(&into->reasons);
}

}  // namespace

Assignment FlavorReport::Write(const FlavorTrace& trace, Charges assumed) {
  Assignment assignment;
  assignment.last_tried.resize(plan_.demand_.size());
  auto at = trace.begin();
  for (std::size_t b = 0; b < plan_.batches_.size(); ++b) {
    const FlavorBatch& sets = plan_.batches_[b];
    Batch batch;
    for (; at != trace.end() && at->batch == b && !batch.failed; ++at) {
      WriteStep(sets, sets.steps[at->step], *at, &batch);
    }
    for (const std::size_t index : sets.pod_sets) WritePodSet(index, batch, &assignment);
    // As in Kueue, the pod sets after one that fails are not looked at.
    if (batch.failed) break;
  }
  const auto position = [&](const PodSetFlavors& pod_set) {
    return std::find_if(plan_.demand_.begin(), plan_.demand_.end(),
                        [&](const PodSetDemand& one) { return one.pod_set->name == pod_set.name; });
  };
  // Batches of topology groups may have changed the order of the pod sets.
  std::stable_sort(
      assignment.pod_sets.begin(), assignment.pod_sets.end(),
      [&](const PodSetFlavors& a, const PodSetFlavors& b) { return position(a) < position(b); });
  std::sort(assumed.begin(), assumed.end(),
            [](const Charge& a, const Charge& b) { return a.pair < b.pair; });
  assignment.usage = std::move(assumed);
  return assignment;
}

// Writes one scan. The sentences of a flavor that fits are dropped; those of an earlier step are
// dropped if this one fails.
void FlavorReport::WriteStep(const FlavorBatch& sets, const FlavorStep& step,
                             const StepTrace& trace, Batch* batch) {
  if (trace.held) {
    if (!step.uncovered) WriteHeld(sets, step, batch);
    return;
  }
  std::vector<std::string> reasons;
  std::vector<FlavorAttempt> attempts;
  if (step.uncovered) {
    const std::string& resource = step.needs[0].resource;
    reasons.push_back("resource " + resource + " unavailable in ClusterQueue");
    batch->uncovered = true;
    if (request_.verdicts != nullptr) {
      request_.verdicts->push_back({plan_.demand_[sets.pod_sets.front()].pod_set->name, "",
                                    resource, Reason::kNoMatchingFlavor, reasons[0]});
    }
  }
  for (const OptionTrace& option : trace.options) {
    FlavorAttempt attempt = WriteOption(sets, step, option, &reasons);
    if (!attempt.flavor.empty()) attempts.push_back(std::move(attempt));
  }
  Merge(step, attempts, batch);
  // No flavor: the batch fails as a whole and keeps no flavors.
  if (trace.chosen < 0) {
    batch->failed = true;
    batch->flavors.clear();
    // The sentences of earlier groups do not matter any more.
    batch->reasons = std::move(reasons);
    return;
  }
  const OptionTrace& chosen = trace.options[static_cast<std::size_t>(trace.chosen)];
  for (std::size_t n = 0; n < step.needs.size(); ++n) {
    FlavorAssignment& flavor = batch->flavors[step.needs[n].resource];
    flavor.flavor = step.options[chosen.option].flavor;
    flavor.mode = ModeOf(chosen.needs[n].grade);
    flavor.tried_flavor_idx = trace.tried_idx;
    flavor.borrowing_level = chosen.needs[n].level;
  }
  // Kueue reports why earlier flavors were not taken only if the chosen one needs evictions.
  const bool fits = std::all_of(chosen.needs.begin(), chosen.needs.end(),
                                [](const NeedTrace& need) { return need.grade == Grade::kFit; });
  if (fits) return;
  std::move(reasons.begin(), reasons.end(), std::back_inserter(batch->reasons));
}

// The flavors of a reservation stay as they are (second pass).
void FlavorReport::WriteHeld(const FlavorBatch& sets, const FlavorStep& step, Batch* batch) const {
  for (const auto& need : step.needs) {
    for (const std::size_t pod_set : sets.pod_sets) {
      const std::string* flavor = walk_.Held(pod_set, need.resource);
      if (flavor != nullptr) batch->flavors[need.resource] = {*flavor, FlavorMode::kFit, 0, 0};
    }
  }
}

// The returned attempt has no flavor name if the flavor was skipped: Kueue lists no attempt then.
FlavorAttempt FlavorReport::WriteOption(const FlavorBatch& sets, const FlavorStep& step,
                                        const OptionTrace& trace,
                                        std::vector<std::string>* reasons) {
  const FlavorOption& option = step.options[trace.option];
  FlavorAttempt attempt;
  if (trace.pinned_out) {
    reasons->push_back("skipping flavor " + option.flavor +
                       " as it is not found in the nomination mapping for resource " +
                       step.needs[step.trigger].resource);
    return attempt;
  }
  if (option.refusal != FlavorOption::Refusal::kNone) {
    reasons->push_back(option.why);
    if (request_.verdicts != nullptr) {
      request_.verdicts->push_back({plan_.demand_[sets.pod_sets.front()].pod_set->name,
                                    option.flavor, "", Reason::kNoMatchingFlavor, option.why});
    }
    if (option.refusal == FlavorOption::Refusal::kNotAllowed) return attempt;
    attempt.flavor = option.flavor;
    attempt.no_fit_reason = Reason::kNoMatchingFlavor;
    attempt.reasons = {option.why};
    return attempt;
  }
  attempt.flavor = option.flavor;
  attempt.mode = ModeOf(trace.score.grade);
  attempt.preemption = PossibilityOf(trace.score.grade);
  for (std::size_t n = 0; n < trace.needs.size(); ++n) {
    const NeedTrace& need = trace.needs[n];
    const std::string& resource = step.needs[n].resource;
    attempt.borrowing_level = std::max(attempt.borrowing_level, need.level);
    // Both sentences may apply: the slice runs elsewhere, and quota is short.
    if (need.other_flavor) {
      attempt.reasons.push_back("could not assign " + option.flavor +
                                " flavor since the original workload is assigned: " +
                                (need.replaced_flavor == nullptr ? "" : *need.replaced_flavor));
      attempt.no_fit_reason = MoreSevere(attempt.no_fit_reason, Reason::kNoMatchingFlavor);
    }
    if (need.grade != Grade::kFit) {
      const std::int64_t wanted = SaturatingAdd(need.assumed, need.amount);
      attempt.reasons.push_back(
          need.exceeds
              ? InsufficientQuota(resource, option.flavor, need)
              : InsufficientUnused(resource, option.flavor, SaturatingSub(wanted, need.available)));
      attempt.no_fit_reason = MoreSevere(attempt.no_fit_reason, ReasonOf(need));
    }
    if (request_.verdicts != nullptr) AddVerdict(sets, option, n, resource, need);
  }
  reasons->insert(reasons->end(), attempt.reasons.begin(), attempt.reasons.end());
  SortUnique(&attempt.reasons);
  return attempt;
}

// A flavor may stand in several resource groups; its attempt is the worst over these groups. A
// flavor that was tried for another group and not for this one does not provide this group's
// resource.
void FlavorReport::Merge(const FlavorStep& step, const std::vector<FlavorAttempt>& attempts,
                         Batch* batch) const {
  for (const FlavorAttempt& attempt : attempts) {
    const auto [at, fresh] = batch->attempts.try_emplace(attempt.flavor, attempt);
    if (!fresh) MergeAttempt(attempt, &at->second);
  }
  if (attempts.empty()) return;
  const std::string& resource = step.needs[step.trigger].resource;
  for (const FlavorOption& option : step.options) {
    const auto known = batch->attempts.find(option.flavor);
    const bool tried =
        std::any_of(attempts.begin(), attempts.end(),
                    [&](const FlavorAttempt& attempt) { return attempt.flavor == option.flavor; });
    if (known == batch->attempts.end() || tried) continue;
    known->second.mode = FlavorMode::kNoFit;
    known->second.no_fit_reason = Reason::kNoMatchingFlavor;
    known->second.reasons.push_back("flavor " + option.flavor + " does not provide resource " +
                                    resource);
    SortUnique(&known->second.reasons);
  }
}

// The number of pods that this search asks for.
std::int32_t FlavorReport::CountOf(std::size_t index) const {
  return request_.counts.empty() ? plan_.demand_[index].count : request_.counts[index];
}

// The batch's flavors for the resources that this pod set requests itself. A pod set that requests
// nothing and stands in a topology group, as a leader may, gets the flavors with known machines.
std::map<std::string, FlavorAssignment> FlavorReport::FlavorsOf(std::size_t index,
                                                                const ResourceList& requests,
                                                                const Batch& batch) const {
  std::map<std::string, FlavorAssignment> flavors;
  const PodSet& spec = *plan_.demand_[index].pod_set;
  const bool follows = plan_.topology_ != nullptr && requests.empty() && spec.topology != nullptr &&
                       !spec.topology->pod_set_group.empty();
  for (const auto& [resource, flavor] : batch.flavors) {
    const bool requested =
        std::any_of(requests.begin(), requests.end(),
                    [&](const ResourceAmount& request) { return request.resource == resource; });
    if (requested || (follows && plan_.topology_->Knows(flavor.flavor))) flavors[resource] = flavor;
  }
  return flavors;
}

// Adds one pod set with its requests, flavors, attempts and scan positions.
void FlavorReport::WritePodSet(std::size_t index, const Batch& batch,
                               Assignment* assignment) const {
  const PodSetDemand& demand = plan_.demand_[index];
  PodSetFlavors pod_set;
  pod_set.name = demand.pod_set->name;
  pod_set.count = CountOf(index);
  for (const auto& [resource, amount] : demand.per_pod) {
    if (resource != "pods") {
      SetAmount(&pod_set.requests, resource, SaturatingMul(amount, pod_set.count));
    }
  }
  if (Covers(plan_.spec_, "pods")) SetAmount(&pod_set.requests, "pods", pod_set.count);
  pod_set.flavors = FlavorsOf(index, pod_set.requests, batch);
  pod_set.reasons = batch.reasons;
  std::sort(pod_set.reasons.begin(), pod_set.reasons.end());
  for (const auto& [flavor, attempt] : batch.attempts) pod_set.attempts.push_back(attempt);
  // A second pass keeps the machines that it has.
  if (const PodSetAssignment* held = walk_.HeldPodSet(index)) {
    pod_set.topology = held->topology;
    pod_set.topology_delayed = held->topology_delayed;
  }
  for (const auto& [resource, flavor] : pod_set.flavors) {
    assignment->borrowing_level = std::max(assignment->borrowing_level, flavor.borrowing_level);
    assignment->last_tried[index][resource] = flavor.tried_flavor_idx;
  }
  pod_set.uncovered = batch.uncovered;
  assignment->pod_sets.push_back(std::move(pod_set));
}

// One row for explain: the numbers of one resource in one flavor.
void FlavorReport::AddVerdict(const FlavorBatch& sets, const FlavorOption& option, std::size_t need,
                              const std::string& resource, const NeedTrace& trace) {
  FlavorVerdict verdict;
  verdict.pod_set = plan_.demand_[sets.pod_sets.front()].pod_set->name;
  verdict.flavor = option.flavor;
  verdict.resource = resource;
  if (trace.grade != Grade::kFit) {
    verdict.reason = trace.exceeds ? Reason::kExceedsMaxQuota : Reason::kWaitingForQuota;
  }
  verdict.requested = SaturatingAdd(trace.assumed, trace.amount);
  if (const FlavorResourceIndex pair = option.pairs[need]; pair >= 0) {
    verdict.potential = usage_.Potential(plan_.queue_, pair);
    verdict.available = std::min(usage_.Available(plan_.queue_, pair), verdict.potential);
    verdict.nominal =
        usage_.tree().node(plan_.queue_).quotas[static_cast<std::size_t>(pair)].nominal;
  }
  verdict.used = SaturatingSub(verdict.potential, verdict.available);
  const auto amount = [&](std::int64_t value) { return FormatQuantity(resource, value); };
  verdict.message = "needs " + amount(verdict.requested) + " " + resource + "; " +
                    plan_.spec_.name + " can use " + amount(verdict.potential) + ", " +
                    amount(verdict.used) + " are used, " + amount(verdict.available) + " free";
  request_.verdicts->push_back(std::move(verdict));
}

void FlavorReport::ResolveNoFit(const ClusterQueue& queue, Assignment* assignment) {
  if (assignment->Mode() != FlavorMode::kNoFit) return;
  for (const PodSetFlavors& pod_set : assignment->pod_sets) {
    if (pod_set.Mode() != FlavorMode::kNoFit) continue;
    Reason worst =
        pod_set.uncovered || pod_set.attempts.empty() ? Reason::kNoMatchingFlavor : Reason::kNone;
    for (const ResourceGroup& group : queue.resource_groups) {
      // Only flavors of this group that do not fit count.
      std::optional<Reason> mildest;
      for (const FlavorAttempt& attempt : pod_set.attempts) {
        const bool member =
            std::any_of(group.flavors.begin(), group.flavors.end(),
                        [&](const auto& entry) { return entry.flavor == attempt.flavor; });
        if (!member || attempt.mode != FlavorMode::kNoFit) continue;
        mildest = mildest ? LessSevere(*mildest, attempt.no_fit_reason) : attempt.no_fit_reason;
      }
      if (mildest) worst = MoreSevere(worst, *mildest);
    }
    assignment->no_fit_reason = MoreSevere(assignment->no_fit_reason, worst);
  }
}

}  // namespace muster::core
