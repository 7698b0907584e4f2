// Disruption budgets and NoExecute taints (rules P30 to P32).
//
// A budget limits how many of a placement's available jobs may leave at a time: maxUnavailable
// against the wanted ones, minAvailable against the available ones, percentages rounded up. What is
// unavailable already uses up the budget. Disruptions counts all jobs first (Count) and then gives
// permissions one by one (Take).
//
// A NoExecute taint drives a job away when the toleration that allows it longest is used up. Of
// several pod sets the one that tolerates it shortest decides, because a job leaves as a whole.
#include "schedd/core/member/disruption.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "schedd/core/member/placement_ask.h"
#include "schedd/model/admission_lifecycle.h"

namespace muster::core {
namespace {

constexpr const char* kNoExecute = "NoExecute";

// The limit as a number; a percentage is rounded up.
std::int64_t Scaled(const DisruptionLimit& limit, std::int64_t wanted) {
  return limit.percent ? (limit.value * wanted + 99) / 100 : limit.value;
}

// The budget's kind and name, for sentences.
std::string NameOf(const DisruptionBudget& budget) {
  return budget.ns.empty() ? "ClusterResourcePlacementDisruptionBudget " + budget.name
                           : "ResourcePlacementDisruptionBudget " + budget.ns + "/" + budget.name;
}

std::string ShortTaint(const Taint& taint) {
  return taint.key + (taint.value.empty() ? "" : "=" + taint.value) + ":" + taint.effect;
}

using Lists = std::vector<const std::vector<Toleration>*>;

// How long the taint is tolerated, in seconds: 0 not at all, the largest int64 for ever. As in
// Kubernetes, the first matching toleration decides.
std::int64_t ToleratedFor(const Taint& taint, const Lists& lists) {
  for (const auto* list : lists) {
    for (const Toleration& one : *list) {
      if (!Tolerates(one, taint)) continue;
      return one.seconds ? std::max<std::int64_t>(0, *one.seconds)
                         : std::numeric_limits<std::int64_t>::max();
    }
  }
  return 0;
}

// The tolerations of one pod set and of the flavors that it was assigned.
Lists TolerationsOf(const ConfigView& config, const JobRecord& job, std::size_t pod_set) {
  Lists lists;
  const PodSet& pods = (*job.pod_sets)[pod_set];
  if (pods.constraints != nullptr) lists.push_back(&pods.constraints->tolerations);
  if (job.admission == nullptr || pod_set >= job.admission->pod_sets.size()) return lists;
  for (const auto& [resource, name] : job.admission->pod_sets[pod_set].flavors) {
    const auto flavor = config.flavors.find(name);
    if (flavor != config.flavors.end()) lists.push_back(&flavor->second.tolerations);
  }
  return lists;
}

// By the placement's tolerations if one governs the job, else the shortest time of its pod sets.
std::int64_t ToleratedFor(const ConfigView& config, const JobRecord& job,
                          const Placement* placement, const Taint& taint) {
  if (placement != nullptr) return ToleratedFor(taint, {&placement->policy.tolerations});
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; job.pod_sets != nullptr && i < job.pod_sets->size(); ++i)
    shortest = std::min(shortest, ToleratedFor(taint, TolerationsOf(config, job, i)));
  return shortest;
}

}  // namespace

std::int64_t DisruptionsAllowed(const DisruptionBudget& budget, const DisruptionCount& count) {
  // What is unavailable already uses up maxUnavailable.
  const std::int64_t whole = count.desired < 0 ? count.wanted : count.desired;
  std::int64_t allowed = 0;
  if (budget.max_unavailable) {
    allowed = Scaled(*budget.max_unavailable, whole) - (count.wanted - count.available);
  } else if (budget.min_available) {
    allowed = count.available - Scaled(*budget.min_available, whole);
  }
  return std::max<std::int64_t>(0, allowed);
}

std::string BudgetProblem(const DisruptionBudget& budget, PlacementType type) {
  if (type != PlacementType::kPickAll) return "";
  if (budget.max_unavailable) return "maxUnavailable is not for a placement of type PickAll";
  if (budget.min_available && budget.min_available->percent)
    return "a percentage is not for a placement of type PickAll";
  return "";
}

Evictions ExecutedEvictions(const ConfigView& config, const PlacementTable::Key* of) {
  Evictions evictions;
  for (const auto& [key, eviction] : config.placement_evictions) {
    if (!eviction.executed_at.set()) continue;
    if (of != nullptr && (of->first != eviction.ns || of->second != eviction.placement)) continue;
    WallTime& last = evictions[{eviction.ns, eviction.placement, eviction.cluster}];
    last = std::max(last, eviction.executed_at);
  }
  return evictions;
}

bool IsEvicted(const Work& work, const Evictions& evictions) {
  if (work.state == WorkState::kLeaving) return false;
  const auto eviction = evictions.find(KeyOf(work));
  return eviction != evictions.end() && work.scheduled_at <= eviction->second;
}

bool IsAvailable(const Work& work) {
  if (work.state != WorkState::kBound) return false;
  return std::all_of(work.manifests.begin(), work.manifests.end(),
                     [](const ManifestStatus& manifest) {
    return manifest.result == ManifestResult::kApplied &&
           (manifest.availability == ManifestAvailability::kAvailable ||
            manifest.availability == ManifestAvailability::kNotTrackable);
  });
}

// Jobs that wait count only if an attempt was made before and they may run again.
bool CountsForBudget(const JobRecord& job) {
  if (IsDispatched(job.state)) return true;
  const bool again = job.state == JobState::kPending || job.state == JobState::kReserved;
  return again && job.attempt > 0 && StateOf(job).active;
}

void Disruptions::Count(const JobRecord& job, bool available) {
  const auto key = GovernorOf(config_, job);
  if (!key || BudgetOf(*key) == nullptr) return;
  DisruptionCount& count = counts_[*key];
  count.wanted += 1;
  count.available += available ? 1 : 0;
}

// A budget that cannot be kept allows nothing.
bool Disruptions::Take(const PlacementTable::Key& placement, std::int64_t jobs) {
  const DisruptionBudget* budget = BudgetOf(placement);
  if (budget == nullptr) return true;
  if (jobs == 0) return true;
  const PlacementPtr governor = config_.placements->Find(placement.first, placement.second);
  if (governor != nullptr && !BudgetProblem(*budget, governor->policy.type).empty()) return false;
  DisruptionCount& count = counts_[placement];
  if (DisruptionsAllowed(*budget, count) < jobs) return false;
  count.available -= jobs;
  return true;
}

void Disruptions::Gone(const PlacementTable::Key& placement) {
  if (BudgetOf(placement) != nullptr) counts_[placement].available -= 1;
}

const DisruptionBudget* Disruptions::BudgetOf(const PlacementTable::Key& placement) const {
  const auto found = config_.disruption_budgets.find(placement);
  return found == config_.disruption_budgets.end() ? nullptr : &found->second;
}

DisruptionCount Disruptions::CountOf(const PlacementTable::Key& placement) const {
  const auto found = counts_.find(placement);
  return found == counts_.end() ? DisruptionCount{} : found->second;
}

std::string Disruptions::WhyBlocked(const PlacementTable::Key& placement) const {
  const DisruptionBudget* budget = BudgetOf(placement);
  if (budget == nullptr) return "";
  const PlacementPtr governor = config_.placements->Find(placement.first, placement.second);
  const std::string problem =
      governor == nullptr ? "" : BudgetProblem(*budget, governor->policy.type);
  if (!problem.empty()) return NameOf(*budget) + " cannot be kept: " + problem;
  const DisruptionCount count = CountOf(placement);
  return NameOf(*budget) + " keeps it: " + std::to_string(count.available) + " of " +
         std::to_string(count.wanted) + " jobs run, and " +
         std::to_string(DisruptionsAllowed(*budget, count)) + " of them may stop";
}

std::optional<PlacementTable::Key> GovernorOf(const ConfigView& config, const JobRecord& job) {
  const PlacementPtr placement = GoverningPlacement(config, job, nullptr);
  if (placement == nullptr) return std::nullopt;
  return PlacementTable::Key{placement->ns, placement->name};
}

bool DrivesAway(const MemberCluster& member) {
  return std::any_of(member.taints.begin(), member.taints.end(),
                     [](const Taint& taint) { return taint.effect == kNoExecute; });
}

std::optional<TaintEviction> DrivenAway(const ConfigView& config, const JobRecord& job,
                                        const MemberCluster& member) {
  // A pin and PickFixed named the member in spite of its taints (rule P10).
  if (job.placement != nullptr && !job.placement->cluster.empty()) return std::nullopt;
  const PlacementPtr placement = GoverningPlacement(config, job, nullptr);
  if (placement != nullptr && placement->policy.type == PlacementType::kPickFixed)
    return std::nullopt;
  std::optional<TaintEviction> first;
  for (std::size_t i = 0; i < member.taints.size(); ++i) {
    const Taint& taint = member.taints[i];
    if (taint.effect != kNoExecute) continue;
    const std::int64_t seconds = ToleratedFor(config, job, placement.get(), taint);
    if (seconds == std::numeric_limits<std::int64_t>::max()) continue;
    TaintEviction leaves{{}, "member cluster " + member.name + " has taint " + ShortTaint(taint)};
    if (seconds == 0) {
      leaves.message += ", which the job does not tolerate";
    } else {
      leaves.message += ", which the job tolerates for " + std::to_string(seconds) + " s only";
      // A member does not always declare when a taint was added.
      const WallTime since = i < member.tainted_at.size() ? member.tainted_at[i] : WallTime{};
      leaves.at = std::max(since, job.admit_time).PlusSeconds(seconds);
    }
    if (!first || leaves.at < first->at) first = std::move(leaves);
  }
  return first;
}

}  // namespace muster::core
