// Eviction objects: judged once, carried out or not, and what became of them written into their
// status, in KubeFleet's words, in the same commit.
#include "schedd/engine/leaving_impl.h"
#include "schedd/shapes/queue_objects.h"
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

std::string CountText(const char* verb, const core::DisruptionCount& count,
                      const std::string& budget) {
  return std::string("Eviction is ") + verb + " by specified " + budget +
         ", availablePlacements: " + std::to_string(count.available) +
         ", totalPlacements: " + std::to_string(count.wanted);
}

}  // namespace

// Whom it takes away goes to `leave`.
Engine::Impl::Leaving::Verdict Engine::Impl::Leaving::Judge(const ConfigView& config,
                                                            const PlacementEviction& eviction,
                                                            core::Disruptions* budgets,
                                                            std::vector<JobPtr>* leave) const {
  const std::string kind = PlacementKind(eviction);
  const PlacementPtr placement = config.placements->Find(eviction.ns, eviction.placement);
  if (placement == nullptr) return {false, "Failed to find " + kind + " targeted by eviction", ""};
  if (placement->policy.type == PlacementType::kPickFixed) {
    return {false, "Found " + kind + " with PickFixed placement type targeted by eviction", ""};
  }
  const PlacementTable::Key key{eviction.ns, eviction.placement};
  std::size_t there = 0, kept = 0, away = 0;
  std::int64_t available = 0;
  for (const auto& [id, job] : JobsOn({eviction.cluster})) {
    if (IsLeaving(*job) || core::GovernorOf(config, *job) != key) continue;
    ++there;
    if (!IsDispatched(job->state)) {
      leave->push_back(job);
    } else if (engine.IsOnLostMember(*job)) {
      ++away;
    } else if (!MayRequeue(*job)) {
      ++kept;
    } else {
      available += IsAvailable(*job) ? 1 : 0;
      leave->push_back(job);
    }
  }
  if (there == 0) {
    return {false,
            "Failed to find scheduler decision for placement in cluster targeted by eviction", ""};
  }
  Verdict verdict;
  if (leave->empty()) {
    verdict.message = away > 0 ? "Eviction is blocked, the member cluster does not answer"
                               : "Eviction is blocked, none of the " + std::to_string(kept) +
                                     " jobs there may be requeued";
    return verdict;
  }
  const core::DisruptionCount count = budgets->CountOf(key);
  const std::string budget = kind + "DisruptionBudget";
  if (!budgets->Take(key, available)) {
    const std::string problem =
        core::BudgetProblem(*budgets->BudgetOf(key), placement->policy.type);
    verdict.message = problem.empty()
                          ? CountText("blocked", count, budget)
                          : "Eviction is blocked by misconfigured " + budget + ", " + problem;
    return verdict;
  }
  verdict.carried_out = true;
  verdict.message = budgets->BudgetOf(key) == nullptr
                        ? "Eviction is allowed, no " + budget + " specified"
                        : CountText("allowed", count, budget);
  verdict.message += ", jobs evicted: " + std::to_string(leave->size());
  if (kept > 0) verdict.message += ", jobs that may not be requeued: " + std::to_string(kept);
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
  const std::string now = FormatRfc3339(engine.clock.WallNow());
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
