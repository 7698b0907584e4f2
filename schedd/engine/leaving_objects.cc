// Eviction objects: judged once, carried out or not, and what became of them written into their
// status, in KubeFleet's words, in the same commit. Jobs are sent away here; configuration objects
// leave because schedd/propagation reads in the status when the eviction was carried out.
#include "schedd/engine/leaving_impl.h"
#include "schedd/shapes/config/queue_objects.h"
#include "schedd/text/json.h"

namespace muster {
namespace {

ObjectKind KindOf(const PlacementEviction& eviction) {
  return eviction.ns.empty() ? ObjectKind::kClusterResourcePlacementEviction
                             : ObjectKind::kResourcePlacementEviction;
}

// "ClusterResourcePlacement" or "ResourcePlacement".
std::string PlacementKind(const PlacementEviction& eviction) {
  return eviction.ns.empty() ? "ClusterResourcePlacement" : "ResourcePlacement";
}

// `what` is told where both jobs and members are counted.
std::string CountText(const char* verb, const core::DisruptionCount& count,
                      const std::string& budget, const char* what) {
  return std::string("Eviction is ") + verb + " by specified " + budget +
         ", availablePlacements: " + std::to_string(count.available) +
         ", totalPlacements: " + std::to_string(count.wanted) + what;
}

// Why nothing is done, whatever the budget says; "" if something may be.
std::string Obstacle(std::size_t jobs, std::size_t kept, std::size_t away, bool leave,
                     bool has_objects) {
  // What jobs run with is not taken away under them.
  if (leave && !(has_objects && kept + away > 0)) return "";
  if (away > 0) return "Eviction is blocked, the member cluster does not answer";
  if (jobs == 0)
    return "Eviction is blocked, placement has not propagated resources to target cluster yet";
  return "Eviction is blocked, " + (kept == jobs ? "none" : std::to_string(kept)) + " of the " +
         std::to_string(jobs) + " jobs there may" + (kept == jobs ? "" : " not") + " be requeued";
}

}  // namespace

bool Engine::Impl::Leaving::IsLost(const std::string& cluster) const {
  const auto lost = engine.lost_members.find(cluster);
  return lost != engine.lost_members.end() && engine.clock.Now() >= lost->second.lost_from;
}

Engine::Impl::Leaving::There Engine::Impl::Leaving::WhatIsThere(
    const ConfigView& config, const PlacementEviction& eviction) const {
  There there;
  const PlacementTable::Key key{eviction.ns, eviction.placement};
  for (const auto& [id, job] : JobsOn({eviction.cluster})) {
    if (IsLeaving(*job) || core::GovernorOf(config, *job) != key) continue;
    ++there.jobs;
    if (!IsDispatched(job->state)) {
      there.leave.push_back(job);
    } else if (engine.IsOnLostMember(*job)) {
      ++there.away;
    } else if (!MayRequeue(*job)) {
      ++there.kept;
    } else {
      there.available += IsAvailable(*job) ? 1 : 0;
      there.leave.push_back(job);
    }
  }
  const auto work =
      engine.live.works.works.find({eviction.ns, eviction.placement, eviction.cluster});
  if (work == engine.live.works.works.end()) return there;
  there.work = work->second;
  const bool something = there.work->state == WorkState::kBound || !there.work->manifests.empty();
  // Evictions that this look has carried out are in the live configuration only.
  const bool leaves =
      there.work->state == WorkState::kLeaving ||
      core::IsEvicted(*there.work, core::ExecutedEvictions(*engine.live.config, &key));
  there.has_objects = something && !leaves;
  there.loses_objects = something && leaves;
  return there;
}

// As KubeFleet counts: percentages are of numberOfClusters, and what leaves counts until it is
// gone.
core::DisruptionCount Engine::Impl::Leaving::CountMembers(const Placement& placement) const {
  const PlacementTable::Key key{placement.ns, placement.name};
  const core::Evictions evictions = core::ExecutedEvictions(*engine.live.config, &key);
  core::DisruptionCount count;
  const auto& works = engine.live.works.works;
  for (auto it = works.lower_bound({placement.ns, placement.name, ""}); it != works.end(); ++it) {
    const Work& work = *it->second;
    if (work.ns != placement.ns || work.placement != placement.name) break;
    count.wanted += 1;
    const bool available =
        core::IsAvailable(work) && !core::IsEvicted(work, evictions) && !IsLost(work.cluster);
    count.available += available ? 1 : 0;
  }
  count.desired = placement.policy.type == PlacementType::kPickN
                      ? placement.policy.number_of_clusters
                      : count.wanted;
  return count;
}

// Both must hold, where both are there: that of the members and that of the jobs.
void Engine::Impl::Leaving::AskBudget(const Placement& placement, const There& there,
                                      core::Disruptions* budgets, Verdict* verdict) const {
  const PlacementTable::Key key{placement.ns, placement.name};
  const std::string name = placement.ns.empty() ? "ClusterResourcePlacementDisruptionBudget"
                                                : "ResourcePlacementDisruptionBudget";
  const DisruptionBudget* budget = budgets->BudgetOf(key);
  verdict->carried_out = budget == nullptr;
  verdict->message = "Eviction is allowed, no " + name + " specified";
  if (budget == nullptr) return;
  const std::string problem = core::BudgetProblem(*budget, placement.policy.type);
  const bool both = there.has_objects && there.jobs > 0;
  const core::DisruptionCount jobs = budgets->CountOf(key);
  const core::DisruptionCount members =
      there.has_objects ? CountMembers(placement) : core::DisruptionCount{};
  const bool costs_a_member =
      there.has_objects && core::IsAvailable(*there.work) && !IsLost(there.work->cluster);
  const bool members_allow =
      !costs_a_member || (problem.empty() && core::DisruptionsAllowed(*budget, members) > 0);
  verdict->carried_out = members_allow && budgets->Take(key, there.available);
  const bool of_members = there.has_objects && (verdict->carried_out || !members_allow);
  const char* what = both ? (of_members ? ", of members" : ", of jobs") : "";
  verdict->message = CountText(verdict->carried_out ? "allowed" : "blocked",
                               of_members ? members : jobs, name, what);
  if (!verdict->carried_out && !problem.empty())
    verdict->message = "Eviction is blocked by misconfigured " + name + ", " + problem;
}

// Whom it takes away goes to `leave`.
Engine::Impl::Leaving::Verdict Engine::Impl::Leaving::Judge(const ConfigView& config,
                                                            const PlacementEviction& eviction,
                                                            core::Disruptions* budgets,
                                                            std::vector<JobPtr>* leave) const {
  const std::string kind = PlacementKind(eviction);
  Verdict verdict;
  verdict.at = engine.clock.WallNow();
  const PlacementPtr placement = config.placements->Find(eviction.ns, eviction.placement);
  if (placement == nullptr) {
    verdict.invalid = "Failed to find " + kind + " targeted by eviction";
  } else if (placement->policy.type == PlacementType::kPickFixed) {
    verdict.invalid = "Found " + kind + " with PickFixed placement type targeted by eviction";
  }
  if (!verdict.invalid.empty()) return verdict;
  There there = WhatIsThere(config, eviction);
  if (there.jobs == 0 && there.work == nullptr) {
    verdict.invalid =
        "Failed to find scheduler decision for placement in cluster targeted by eviction";
    return verdict;
  }
  if (there.jobs == 0 && there.loses_objects) {
    verdict.carried_out = true;
    verdict.message =
        "Eviction is allowed, resources propagated by placement is currently being removed from "
        "cluster targeted by eviction";
    return verdict;
  }
  verdict.message = Obstacle(there.jobs, there.kept, there.away,
                             there.has_objects || !there.leave.empty(), there.has_objects);
  if (!verdict.message.empty()) return verdict;
  AskBudget(*placement, there, budgets, &verdict);
  if (!verdict.carried_out) return verdict;
  if (there.jobs > 0) verdict.message += ", jobs evicted: " + std::to_string(there.leave.size());
  if (there.kept > 0)
    verdict.message += ", jobs that may not be requeued: " + std::to_string(there.kept);
  if (there.has_objects) {
    verdict.message += ", configuration objects are removed";
    // Whatever the clock says, it is meant.
    verdict.at = std::max(verdict.at, there.work->scheduled_at);
  }
  *leave = std::move(there.leave);
  return verdict;
}

void Engine::Impl::Leaving::CarryOut(const ConfigView& config, const Eviction& eviction,
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

void Engine::Impl::Leaving::WriteStatus(const PlacementEviction& eviction, const Verdict& verdict) {
  const ObjectKey key{KindOf(eviction), eviction.ns, eviction.name};
  evictions_.erase({eviction.ns, eviction.name});
  const auto found = engine.live.objects->find(key);
  if (found == engine.live.objects->end()) return;
  auto manifest = ParseJson(found->second->manifest);
  if (!manifest.ok() || !manifest->is_object()) return;
  const std::string word = PlacementKind(eviction) + "Eviction";
  // To the microsecond: what was picked before leaves, what is picked after stays.
  const std::string now = FormatRfc3339Micros(verdict.at);
  json::array conditions;
  const auto add = [&](const char* type, bool status, const std::string& reason,
                       const std::string& message) {
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
  (void)engine.Apply({"muster", "engine"}, {change}, false);
}

}  // namespace muster
