// Properties of Decide on random worlds: soundness, gangs, determinism, and that the budget only
// cuts time.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "schedd/core/cycle/apply.h"
#include "schedd/core/cycle/cycle.h"
#include "schedd/core/cycle/cycle_cache.h"
#include "schedd/core/cycle/plan_check.h"
#include "schedd/core/flavor/flavor_assigner.h"
#include "schedd/core/queue/gates.h"
#include "tests/property/core/random_world.h"
#include "tests/support/usage_check.h"

namespace muster::core::testing {
namespace {

struct Game {
  ConfigPtr config;
  Usage usage;
  PendingQueues pending;
  std::vector<ClusterView> clusters;
  std::vector<JobPtr> jobs;
  AdmissionSettingsPtr settings = std::make_shared<const AdmissionSettings>();
  std::int64_t cycle = 0;
  std::shared_ptr<const PlacedCounts> placed;

  Snapshot Take(std::size_t per_queue, std::size_t total = 100000) const {
    Snapshot snapshot;
    snapshot.config = config;
    snapshot.settings = settings;
    snapshot.usage = usage;
    snapshot.heads = pending.Heads(per_queue, total);
    snapshot.clusters = clusters;
    snapshot.cycle = cycle;
    snapshot.placed = placed;
    return snapshot;
  }
};

PlacementPolicy RandomPolicy(Dice* dice) {
  PlacementPolicy policy;
  policy.type = static_cast<PlacementType>(dice->Roll(0, 2));
  policy.kubefleet_tie_break = dice->Chance(20);
  if (dice->Chance(50)) policy.tolerations = {{"spot", "Exists", "", "", {}}};
  const auto member = [&] { return "member-" + std::to_string(dice->Roll(0, 3)); };
  if (dice->Chance(20)) policy.groups = {{"one", {member(), member()}, std::nullopt, 60}};
  if (policy.type == PlacementType::kPickFixed) {
    policy.cluster_names = {member(), member()};
    return policy;
  }
  const LabelSelector x{{{"kind", "x"}}, {}};
  if (dice->Chance(40)) policy.required = {{x, {}}};
  if (policy.type == PlacementType::kPickAll) return policy;
  policy.preferred = {
      {static_cast<std::int32_t>(dice->Roll(-100, 100)), x, std::nullopt},
      {40, {}, PropertySorter{"resources.kubernetes-fleet.io/available-gpu", dice->Chance(50)}}};
  if (dice->Chance(30)) policy.spread = {{1, "kind", dice->Chance(50)}};
  return policy;
}

// Of some jobs by name, of a whole namespace, or of a whole queue.
void AddPlacements(Dice* dice, const std::vector<JobPtr>& jobs, ConfigView* config) {
  auto table = std::make_shared<PlacementTable>();
  for (std::int64_t i = dice->Roll(0, 12); i-- > 0;) {
    const auto& job =
        jobs[static_cast<std::size_t>(dice->Roll(0, static_cast<std::int64_t>(jobs.size()) - 1))];
    auto placement = std::make_shared<Placement>();
    placement->ns = job->ns;
    placement->name = "p" + std::to_string(i);
    placement->policy = RandomPolicy(dice);
    ResourceSelector selector;
    selector.group = "batch";
    selector.version = "v1";
    selector.kind = "Job";
    if (!dice->Chance(10)) selector.name = job->name;
    placement->selectors = {selector};
    table->Put(placement);
    if (dice->Chance(20)) config->local_queues.begin()->second.placement = placement->name;
  }
  config->placements = table;
}

// `governed`: placements decide where some jobs go.
Game RandomGame(std::uint64_t seed, int most_queues = 10, bool governed = false) {
  Dice dice(seed);
  Shape shape;
  shape.queues = static_cast<int>(dice.Roll(1, most_queues));
  shape.cohorts = static_cast<int>(dice.Roll(0, 6));
  shape.jobs = static_cast<int>(dice.Roll(1, 80));
  shape.members = static_cast<int>(dice.Roll(0, 4));
  Game game;
  auto config = std::make_shared<ConfigView>(RandomConfig(&dice, shape));
  game.jobs = RandomJobs(&dice, shape, *config);
  game.clusters = RandomMembers(&dice, shape);
  if (governed) AddPlacements(&dice, game.jobs, config.get());
  game.usage = Usage(QuotaTree::Build(*config));
  game.config = config;
  game.pending.Configure(game.config, game.usage.tree_ptr(),
                         std::make_shared<const AdmissionSettings>());
  for (const auto& job : game.jobs) game.pending.Add(job, WallTime{});
  return game;
}

CycleInput Budget(std::size_t heads) {
  CycleInput input;
  input.seed = 42;
  input.budget.heads = heads;
  return input;
}

std::string Text(const std::vector<std::string>& sentences) {
  std::string text;
  for (const auto& sentence : sentences) text += sentence + "\n";
  return text;
}

void AssertEqual(const Plan& a, const Plan& b) {
  RC_ASSERT(a.admits.size() == b.admits.size());
  for (std::size_t i = 0; i < a.admits.size(); ++i) {
    RC_ASSERT(a.admits[i].job->id == b.admits[i].job->id);
    RC_ASSERT(a.admits[i].cluster == b.admits[i].cluster);
    RC_ASSERT(a.admits[i].placed == b.admits[i].placed);
    RC_ASSERT(*a.admits[i].admission == *b.admits[i].admission);
  }
  RC_ASSERT(a.not_admitted.size() == b.not_admitted.size());
  for (std::size_t i = 0; i < a.not_admitted.size(); ++i) {
    RC_ASSERT(a.not_admitted[i].job->id == b.not_admitted[i].job->id);
    RC_ASSERT(a.not_admitted[i].message == b.not_admitted[i].message);
  }
}

using Placements = std::vector<std::pair<std::int64_t, std::string>>;

// Decides until nothing moves, as an engine does; every plan is checked on its way.
Placements PlayOut(Game* game, std::size_t heads, std::size_t per_queue, std::size_t total) {
  Placements placements;
  std::vector<JobPtr> admitted;
  CycleCache cache;
  for (int cycle = 0; game->pending.HasActive(); ++cycle) {
    RC_ASSERT(cycle < 1000);
    const Snapshot snapshot = game->Take(per_queue, total);
    CycleInput input = Budget(heads);
    const Plan plan = Decide(snapshot, input);
    input.cache = &cache;
    AssertEqual(plan, Decide(snapshot, input));
    const auto problems = CheckPlan(snapshot, plan);
    if (!problems.empty()) RC_FAIL(Text(problems));
    const Snapshot after = Apply(snapshot, plan);
    game->usage = after.usage;
    game->clusters = after.clusters;
    game->cycle = after.cycle;
    game->placed = after.placed;
    game->pending.Settle(plan, WallTime{});
    for (const auto& admit : plan.admits) {
      placements.emplace_back(admit.job->id.value, admit.cluster);
      auto job = std::make_shared<JobRecord>(*admit.job);
      job->admission = admit.admission;
      admitted.push_back(job);
    }
  }
  const auto differences = UsageDifferences(game->usage, admitted);
  if (!differences.empty()) RC_FAIL(Text(differences));
  return placements;
}

RC_GTEST_PROP(CycleProperty, EveryPlanIsSound_AndUsageIsThatOfTheAdmitted, (std::uint64_t seed)) {
  Game game = RandomGame(seed);
  PlayOut(&game, 1000, 1000, 100000);
}

RC_GTEST_PROP(CycleProperty, PlacementsAreKept_WhateverTheBudgetAndTheWindow,
              (std::uint64_t seed)) {
  Game whole = RandomGame(seed, 4, true);
  Game stepwise = RandomGame(seed, 4, true);
  Game narrow = RandomGame(seed, 4, true);
  const Placements expected = PlayOut(&whole, 100000, 1000, 100000);
  RC_ASSERT(PlayOut(&stepwise, 1, 1000, 100000) == expected);
  RC_ASSERT(PlayOut(&narrow, 7, 2, 100000) == expected);
}

RC_GTEST_PROP(CycleProperty, AdmittedJobs_AreWholeGangs, (std::uint64_t seed)) {
  Game game = RandomGame(seed);
  const Plan plan = Decide(game.Take(1000), Budget(100000));
  for (const auto& admit : plan.admits) {
    const auto& pod_sets = *admit.job->pod_sets;
    RC_ASSERT(admit.admission->pod_sets.size() == pod_sets.size());
    for (std::size_t i = 0; i < pod_sets.size(); ++i) {
      RC_ASSERT(admit.admission->pod_sets[i].count == pod_sets[i].count);
      for (const auto& [resource, amount] : pod_sets[i].requests) {
        RC_ASSERT(AmountOf(admit.admission->pod_sets[i].usage, resource) ==
                  amount * pod_sets[i].count);
      }
    }
  }
}

RC_GTEST_PROP(CycleProperty, EqualInputs_GiveEqualPlans, (std::uint64_t seed)) {
  const Plan a = Decide(RandomGame(seed).Take(1000), Budget(100000));
  const Plan b = Decide(RandomGame(seed).Take(1000), Budget(100000));
  AssertEqual(a, b);
}

RC_GTEST_PROP(CycleProperty, BudgetAndWindow_ChangeNothingButTheNumberOfCycles,
              (std::uint64_t seed)) {
  Game whole = RandomGame(seed);
  Game stepwise = RandomGame(seed);
  Game narrow = RandomGame(seed);
  const Placements expected = PlayOut(&whole, 100000, 1000, 100000);
  RC_ASSERT(PlayOut(&stepwise, 1, 1000, 100000) == expected);
  RC_ASSERT(PlayOut(&narrow, 7, 2, 100000) == expected);
}

// P4: every workload that still waits has a reason that is true: its head really does not fit the
// final world. With one queue only: with several, a head may be refused room that an earlier entry
// of the round has reserved, and then tries its next flavor (rule A20).
RC_GTEST_PROP(CycleProperty, WhoeverWaits_CouldNotHaveBeenAdmitted, (std::uint64_t seed)) {
  Game game = RandomGame(seed, 1);
  PlayOut(&game, 100000, 1000, 100000);
  game.pending.FlushAll(WallTime{});
  const Plan again = Decide(game.Take(1000), Budget(100000));
  // Placement does not change the flavor that quota chose, and pod sets share what is left of the
  // flavors: only with members and several flavors, or with several pod sets, can a second look
  // find what the first did not.
  for (const auto& admit : again.admits) {
    const auto& queue = game.config->cluster_queues.at(admit.job->cluster_queue);
    const bool several_flavors = queue.resource_groups.at(0).flavors.size() > 1;
    RC_ASSERT(admit.job->pod_sets->size() > 1 || (!game.clusters.empty() && several_flavors));
  }
  for (const auto& waiting : again.not_admitted) {
    RC_ASSERT(waiting.reason != Reason::kNone);
    RC_ASSERT(!waiting.message.empty());
    RC_ASSERT(waiting.block || !RequeuesAtOnce(waiting.requeue, false));
  }
}

// Assigns flavors, and again from where the search ended, while flavors are left to try.
Assignment BestOfAllTries(const ConfigView& config, const AdmissionSettings& settings,
                          const Usage& usage, const ClusterQueue& queue, const JobRecord& job) {
  LastAssignment last;
  while (true) {
    AssignRequest request;
    if (!last.tried.empty()) {
      request.resume = &last.tried;
      last.before.push_back(last.tried);
    }
    Assignment assignment = AssignFlavors(config, settings, usage, queue, job, nullptr, request);
    if (assignment.Mode() == FlavorMode::kFit) return assignment;
    last.tried = assignment.last_tried;
    if (last.Ended()) return assignment;
  }
}

// A naive scheduler for one class-free queue: no indices, no parking, the same rules spelled out
// again.
RC_GTEST_PROP(CycleProperty, SingleQueue_AgreesWithANaiveScheduler, (std::uint64_t seed)) {
  Dice dice(seed);
  Shape shape;
  shape.queues = 1;
  shape.cohorts = 0;
  shape.members = 0;
  shape.jobs = 40;
  auto config = std::make_shared<ConfigView>(RandomConfig(&dice, shape));
  auto jobs = RandomJobs(&dice, shape, *config);
  const auto& queue = config->cluster_queues.begin()->second;
  Usage usage(QuotaTree::Build(*config));
  Game game;
  game.config = config;
  game.usage = usage;
  const AdmissionSettings settings;
  game.pending.Configure(config, usage.tree_ptr(), std::make_shared<AdmissionSettings>(settings));
  for (const auto& job : jobs) game.pending.Add(job, WallTime{});
  std::sort(jobs.begin(), jobs.end(),
            [&](const JobPtr& a, const JobPtr& b) { return Before(*a, *b, settings); });
  std::vector<std::int64_t> expected;
  for (const auto& job : jobs) {
    if (QueueGate(*config, settings, usage.tree(), queue.name)) break;
    if (JobGate(*config, queue, *job)) continue;
    const auto assignment = BestOfAllTries(*config, settings, usage, queue, *job);
    if (assignment.Mode() == FlavorMode::kFit) {
      usage.Add(*assignment.ToAdmission(queue.name));
      expected.push_back(job->id.value);
    } else if (queue.strategy == QueueingStrategy::kStrictFifo) {
      break;
    }
  }
  std::vector<std::int64_t> actual;
  for (const auto& admit : Decide(game.Take(1000), Budget(100000)).admits) {
    actual.push_back(admit.job->id.value);
  }
  RC_ASSERT(actual == expected);
}

// CheckPlan must notice what a faulty planner could do.
RC_GTEST_PROP(CycleProperty, SeededViolations_AreCaught, (std::uint64_t seed)) {
  Game game = RandomGame(seed);
  const Snapshot snapshot = game.Take(1000);
  const Plan plan = Decide(snapshot, Budget(100000));
  if (plan.admits.empty()) return;
  Dice dice(seed + 1);
  const auto at =
      static_cast<std::size_t>(dice.Roll(0, static_cast<std::int64_t>(plan.admits.size()) - 1));
  const auto broken = [&](auto change) {
    Plan copy = plan;
    Admission admission = *copy.admits[at].admission;
    change(&copy, &admission);
    copy.admits[at].admission = std::make_shared<const Admission>(admission);
    return !CheckPlan(snapshot, copy).empty();
  };
  RC_ASSERT(broken([](Plan*, Admission* admission) { admission->pod_sets.pop_back(); }));
  RC_ASSERT(broken([](Plan*, Admission* admission) { ++admission->pod_sets[0].count; }));
  RC_ASSERT(broken([&](Plan* copy, Admission*) { copy->admits.push_back(copy->admits[at]); }));
  RC_ASSERT(broken([&](Plan* copy, Admission*) { copy->admits[at].cluster = "nowhere"; }));
  RC_ASSERT(broken([](Plan*, Admission* admission) { admission->cluster_queue = "other"; }));
  for (const auto& [resource, amount] : (*plan.admits[at].job->pod_sets)[0].requests) {
    if (amount == 0) continue;
    const std::string name = resource;
    RC_ASSERT(broken([&](Plan*, Admission* a) { a->pod_sets[0].flavors[name] = "nothing"; }));
    RC_ASSERT(broken([&](Plan*, Admission* a) { SetAmount(&a->pod_sets[0].usage, name, 0); }));
  }
}

}  // namespace
}  // namespace muster::core::testing
