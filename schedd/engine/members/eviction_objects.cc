// Eviction objects (rule P30): ClusterResourcePlacementEviction and ResourcePlacementEviction. Each
// is judged once, carried out or not, and the verdict is written into its status, in KubeFleet's
// words, in the same commit as its effects.
//
// Judge goes from the cheap to the dear: is the object valid (its placement exists, is not
// PickFixed, and has something on the member); does something forbid it whatever the budget says
// (Obstacle); do the disruption budgets allow it (AskBudget). Jobs that may not be requeued, and
// jobs on a member that does not answer, stay. If there is such a job and the placement also has
// configuration objects there, nothing is done at all, because the job runs with them.
//
// Configuration objects of the placement leave with the jobs, but not by a call from here:
// schedd/propagation reads in the status when the eviction was carried out, so no object is deleted
// before its row says that it leaves. The budget of objects counts members, as KubeFleet's does;
// where there are jobs and objects both counts must hold.
#include "schedd/engine/members/leaving.h"
#include "schedd/shapes/config/queue_objects.h"
#include "schedd/text/json.h"

namespace muster {
namespace {

ObjectKind KindOf(const PlacementEviction& eviction) {
  return eviction.ns.empty() ? ObjectKind::kClusterResourcePlacementEviction
                             : ObjectKind::kResourcePlacementEviction;
}

// "ClusterResourcePlacement" or "ResourcePlacement"; with "Eviction" behind it the kind of the
// object.
std::string PlacementKind(const PlacementEviction& eviction) {
  return eviction.ns.empty() ? "ClusterResourcePlacement" : "ResourcePlacement";
}

// KubeFleet's sentence of a verdict. `what`: ", of jobs" or ", of members" where both are counted,
// else "".
std::string CountText(const char* verb, const core::DisruptionCount& count,
                      const std::string& budget, const char* what) {
  return std::string("Eviction is ") + verb + " by specified " + budget +
         ", availablePlacements: " + std::to_string(count.available) +
         ", totalPlacements: " + std::to_string(count.wanted) + what;
}

// Why nothing may be done, whatever the budget says; "" if something may be. `jobs`: on the member;
// `kept`: may not be requeued; `away`: do not answer; `leave`: something could leave.
std::string Obstacle(std::size_t jobs, std::size_t kept, std::size_t away, bool leave,
                     bool has_objects) {
  // Objects are not taken away from jobs that run with them.
  if (leave && !(has_objects && kept + away > 0)) return "";
  if (away > 0) return "Eviction is blocked, the member cluster does not answer";
  if (jobs == 0)
    return "Eviction is blocked, placement has not propagated resources to target cluster yet";
  return "Eviction is blocked, " + (kept == jobs ? "none" : std::to_string(kept)) + " of the " +
         std::to_string(jobs) + " jobs there may" + (kept == jobs ? "" : " not") + " be requeued";
}

}  // namespace

// What the placement has on the member, and which of its jobs may leave. A job without an attempt
// leaves in any case; only jobs that run cost the budget.
Leaving::Holding Leaving::HoldingOf(const ConfigView& config,
                                    const PlacementEviction& eviction) const {
  Holding holding;
  const PlacementTable::Key key{eviction.ns, eviction.placement};
  for (const auto& [id, job] : JobsOn({eviction.cluster})) {
    if (IsLeaving(*job) || core::GovernorOf(config, *job) != key) continue;
    ++holding.jobs;
    if (!IsDispatched(job->state)) {
      holding.leave.push_back(job);
    } else if (members_.IsOnLostMember(*job)) {
      ++holding.away;
    } else if (!MayRequeue(*job)) {
      ++holding.kept;
    } else {
      holding.available += IsAvailable(*job) ? 1 : 0;
      holding.leave.push_back(job);
    }
  }
  AddObjects(eviction, &holding);
  return holding;
}

// Adds the configuration objects of the placement. The live configuration is asked for executed
// evictions, not the one that the look began with: this look may have carried out some.
void Leaving::AddObjects(const PlacementEviction& eviction, Holding* holding) const {
  const auto& works = works_.table().works;
  const auto work = works.find({eviction.ns, eviction.placement, eviction.cluster});
  if (work == works.end()) return;
  const PlacementTable::Key key{eviction.ns, eviction.placement};
  holding->work = work->second;
  const bool something =
      holding->work->state == WorkState::kBound || !holding->work->manifests.empty();
  const bool leaves =
      holding->work->state == WorkState::kLeaving ||
      core::IsEvicted(*holding->work, core::ExecutedEvictions(*config_.view(), &key));
  holding->has_objects = something && !leaves;
  holding->loses_objects = something && leaves;
}

// Members with objects of the placement, as KubeFleet counts: percentages are of numberOfClusters,
// and a member that loses its objects counts until they are gone.
core::DisruptionCount Leaving::CountMembers(const Placement& placement) const {
  const PlacementTable::Key key{placement.ns, placement.name};
  const core::Evictions evictions = core::ExecutedEvictions(*config_.view(), &key);
  core::DisruptionCount count;
  const auto& works = works_.table().works;
  for (auto it = works.lower_bound({placement.ns, placement.name, ""}); it != works.end(); ++it) {
    const Work& work = *it->second;
    if (work.ns != placement.ns || work.placement != placement.name) break;
    count.wanted += 1;
    const bool available = core::IsAvailable(work) && !core::IsEvicted(work, evictions) &&
                           !members_.IsLost(work.cluster);
    count.available += available ? 1 : 0;
  }
  count.desired = placement.policy.type == PlacementType::kPickN
                      ? placement.policy.number_of_clusters
                      : count.wanted;
  return count;
}

// Where there are jobs and objects, both budgets must hold; the sentence is about the one that
// decided. Members are asked first, because the question about jobs takes them off the budget at
// once.
void Leaving::AskBudget(const Placement& placement, const Holding& holding,
                        core::Disruptions* budgets, Verdict* verdict) const {
  const PlacementTable::Key key{placement.ns, placement.name};
  const std::string name = placement.ns.empty() ? "ClusterResourcePlacementDisruptionBudget"
                                                : "ResourcePlacementDisruptionBudget";
  const DisruptionBudget* budget = budgets->BudgetOf(key);
  verdict->carried_out = budget == nullptr;
  verdict->message = "Eviction is allowed, no " + name + " specified";
  if (budget == nullptr) return;
  const std::string problem = core::BudgetProblem(*budget, placement.policy.type);
  const bool both = holding.has_objects && holding.jobs > 0;
  const core::DisruptionCount jobs = budgets->CountOf(key);
  const core::DisruptionCount members =
      holding.has_objects ? CountMembers(placement) : core::DisruptionCount{};
  const bool costs_a_member = holding.has_objects && core::IsAvailable(*holding.work) &&
                              !members_.IsLost(holding.work->cluster);
  const bool members_allow =
      !costs_a_member || (problem.empty() && core::DisruptionsAllowed(*budget, members) > 0);
  verdict->carried_out = members_allow && budgets->Take(key, holding.available);
  const bool of_members = holding.has_objects && (verdict->carried_out || !members_allow);
  const char* what = both ? (of_members ? ", of members" : ", of jobs") : "";
  verdict->message = CountText(verdict->carried_out ? "allowed" : "blocked",
                               of_members ? members : jobs, name, what);
  if (!verdict->carried_out && !problem.empty())
    verdict->message = "Eviction is blocked by misconfigured " + name + ", " + problem;
}

// The verdict, and in `leave` the jobs that it sends away.
Leaving::Verdict Leaving::Judge(const ConfigView& config, const PlacementEviction& eviction,
                                core::Disruptions* budgets, std::vector<JobPtr>* leave) const {
  const std::string kind = PlacementKind(eviction);
  Verdict verdict;
  verdict.at = context_.clock.WallNow();
  const PlacementPtr placement = config.placements->Find(eviction.ns, eviction.placement);
  if (placement == nullptr) {
    verdict.invalid = "Failed to find " + kind + " targeted by eviction";
  } else if (placement->policy.type == PlacementType::kPickFixed) {
    verdict.invalid = "Found " + kind + " with PickFixed placement type targeted by eviction";
  }
  if (!verdict.invalid.empty()) return verdict;
  Holding holding = HoldingOf(config, eviction);
  if (holding.jobs == 0 && holding.work == nullptr) {
    verdict.invalid =
        "Failed to find scheduler decision for placement in cluster targeted by eviction";
    return verdict;
  }
  if (holding.jobs == 0 && holding.loses_objects) {
    verdict.carried_out = true;
    verdict.message =
        "Eviction is allowed, resources propagated by placement is currently being removed from "
        "cluster targeted by eviction";
    return verdict;
  }
  verdict.message = Obstacle(holding.jobs, holding.kept, holding.away,
                             holding.has_objects || !holding.leave.empty(), holding.has_objects);
  if (!verdict.message.empty()) return verdict;
  AskBudget(*placement, holding, budgets, &verdict);
  if (!verdict.carried_out) return verdict;
  if (holding.jobs > 0)
    verdict.message += ", jobs evicted: " + std::to_string(holding.leave.size());
  if (holding.kept > 0)
    verdict.message += ", jobs that may not be requeued: " + std::to_string(holding.kept);
  if (holding.has_objects) {
    verdict.message += ", configuration objects are removed";
    // A work that was scheduled later than this time would stay (core::IsEvicted), so the time is
    // not before it, whatever the clock says.
    verdict.at = std::max(verdict.at, holding.work->scheduled_at);
  }
  *leave = std::move(holding.leave);
  return verdict;
}

// All holders are looked at, also reserved ones, because the object is judged once. The jobs leave
// and the status is written in one transaction.
void Leaving::CarryOut(const ConfigView& config, const Eviction& eviction,
                       core::Disruptions* budgets) {
  const bool all = std::exchange(reserved_too_, true);
  std::vector<JobPtr> leave;
  const Verdict verdict = Judge(config, eviction.second, budgets, &leave);
  reserved_too_ = all;
  if (verdict.carried_out) {
    const std::string name =
        (eviction.second.ns.empty() ? "" : eviction.second.ns + "/") + eviction.second.name;
    for (const JobPtr& job : leave) {
      Send(job, Reason::kPlacementEviction,
           "evicted by " + PlacementKind(eviction.second) + "Eviction " + name);
    }
  }
  WriteStatus(eviction.second, verdict);
}

// Writes the conditions Valid and Executed as an edit of the object, which also ends it (`over`).
// An object that was removed meanwhile has no status to write.
void Leaving::WriteStatus(const PlacementEviction& eviction, const Verdict& verdict) {
  const ObjectKey key{KindOf(eviction), eviction.ns, eviction.name};
  evictions_.erase({eviction.ns, eviction.name});
  const auto found = config_.objects()->find(key);
  if (found == config_.objects()->end()) return;
  auto manifest = ParseJson(found->second->manifest);
  if (!manifest.ok() || !manifest->is_object()) return;
  const std::string word = PlacementKind(eviction) + "Eviction";
  // To the microsecond: works that were scheduled before leave, works that are scheduled after
  // stay.
  const std::string now = FormatRfc3339Micros(verdict.at);
  json::array conditions;
  const auto add =
      [&](const char* type, bool status, const std::string& reason, const std::string& message) {
    conditions.push_back(json::object{{"type", type},
                                      {"status", status ? "True" : "False"},
                                      {"reason", word + reason},
                                      {"message", message},
                                      {"observedGeneration", found->second->generation},
                                      {"lastTransitionTime", now}});
  };
  const bool valid = verdict.invalid.empty();
  add("Valid", valid, valid ? "Valid" : "Invalid", valid ? "Eviction is valid" : verdict.invalid);
  if (valid) {
    add("Executed", verdict.carried_out, verdict.carried_out ? "Executed" : "NotExecuted",
        verdict.message);
  }
  manifest->as_object()["status"] = json::object{{"conditions", std::move(conditions)}};
  ObjectChange change;
  change.kind = KindOf(eviction);
  change.ns = eviction.ns;
  change.name = eviction.name;
  change.manifest = WriteJson(*manifest);
  (void)configuration_.Apply({"muster", "engine"}, {change}, false);
}

}  // namespace muster
