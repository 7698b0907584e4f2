// Properties of the searches for victims (rules A37, A41) on random trees, holders and policies.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>

#include "schedd/core/preempt/preemption.h"
#include "tests/property/core/random_world.h"

namespace muster::core::testing {
namespace {

struct Game {
  AdmissionSettings settings;
  QuotaTreePtr tree;
  Usage usage;
  std::vector<HolderPtr> held;
  Preemptor preemptor;
  Charges requests;
  std::vector<FlavorResourceIndex> contested;
};

PreemptionPolicy RandomPolicy(Dice* dice) {
  return static_cast<PreemptionPolicy>(dice->Roll(0, 3));
}

void AddPolicies(Dice* dice, ConfigView* config) {
  const double weights[] = {0, 0.5, 1, 3};
  for (auto& [name, queue] : config->cluster_queues) {
    auto& policy = queue.preemption;
    policy.within_cluster_queue = RandomPolicy(dice);
    policy.reclaim_within_cohort = RandomPolicy(dice);
    if (dice->Chance(40)) policy.borrow_within_cohort = PreemptionPolicy::kLowerPriority;
    if (dice->Chance(30)) policy.max_priority_threshold = static_cast<int>(dice->Roll(0, 2));
    queue.fair_weight = weights[dice->Roll(0, 3)];
  }
  for (auto& [name, cohort] : config->cohorts) cohort.fair_weight = weights[dice->Roll(0, 3)];
}

std::optional<std::vector<FairStrategy>> RandomStrategies(Dice* dice) {
  constexpr auto kFinal = FairStrategy::kLessThanOrEqualToFinalShare;
  constexpr auto kInitial = FairStrategy::kLessThanInitialShare;
  const std::vector<FairStrategy> lists[] = {
      {kFinal}, {kInitial}, {kFinal, kInitial}, {kInitial, kFinal}};
  if (dice->Chance(50)) return std::nullopt;
  return lists[dice->Roll(0, 3)];
}

// A flavor of the queue for each resource, with an amount of it.
Admission RandomAdmission(Dice* dice, const ClusterQueue& queue, std::int64_t most) {
  Admission admission{queue.name, {{"main", 1, {}, {}, nullptr, false}}};
  const auto& flavors = queue.resource_groups.front().flavors;
  for (const char* resource : {"cpu", "gpu"}) {
    if (dice->Chance(30)) continue;
    const auto at =
        static_cast<std::size_t>(dice->Roll(0, static_cast<std::int64_t>(flavors.size()) - 1));
    admission.pod_sets[0].flavors[resource] = flavors[at].flavor;
    SetAmount(&admission.pod_sets[0].usage, resource, dice->Roll(0, most));
  }
  return admission;
}

const ClusterQueue& RandomQueue(Dice* dice, const ConfigView& config) {
  auto queue = config.cluster_queues.begin();
  std::advance(queue, dice->Roll(0, static_cast<std::int64_t>(config.cluster_queues.size()) - 1));
  return queue->second;
}

HolderPtr RandomHolder(Dice* dice, const ConfigView& config, const Game& game, std::int64_t id) {
  const ClusterQueue& queue = RandomQueue(dice, config);
  auto job = std::make_shared<JobRecord>();
  job->id = {id};
  job->uid = {static_cast<std::uint64_t>(dice->Roll(0, 3)), 0};  // often equal: the id decides
  job->priority = static_cast<std::int32_t>(dice->Roll(0, 3));
  job->submit_time = {dice->Roll(1, 4)};
  job->admit_time = {dice->Roll(1, 4)};
  if (dice->Chance(15)) {
    job->conditions = std::make_shared<const std::vector<Condition>>(
        std::vector<Condition>{{"Evicted", "Preempted", "", true, {}}});
  }
  job->admission = std::make_shared<const Admission>(RandomAdmission(dice, queue, 5));
  return MakeHolder(*game.tree, game.settings, job);
}

Game RandomGame(std::uint64_t seed) {
  Dice dice(seed);
  Shape shape;
  shape.queues = static_cast<int>(dice.Roll(1, 8));
  shape.cohorts = static_cast<int>(dice.Roll(1, 6));
  ConfigView config = RandomConfig(&dice, shape);
  AddPolicies(&dice, &config);
  Game game;
  game.settings.fair_sharing = RandomStrategies(&dice);
  game.settings.fair_preempt_within_nominal = dice.Chance(70);
  game.tree = QuotaTree::Build(config);
  game.usage = Usage(game.tree);
  for (std::int64_t id = dice.Roll(0, 40); id > 0; --id) {
    game.held.push_back(RandomHolder(&dice, config, game, id));
    game.usage.Add(*game.held.back()->job->admission);
  }
  const ClusterQueue& queue = RandomQueue(&dice, config);
  game.preemptor = {
      nullptr, game.tree->ClusterQueueIndex(queue.name), dice.Roll(0, 4), {dice.Roll(1, 4)}};
  game.requests = ChargesOf(*game.tree, RandomAdmission(&dice, queue, 8));
  for (const Charge& charge : game.requests) {
    if (!game.usage.Fits(game.preemptor.queue, charge.pair, charge.amount) || dice.Chance(20))
      game.contested.push_back(charge.pair);
  }
  return game;
}

std::vector<Victim> Search(const Game& game, const std::vector<HolderPtr>& held, Usage* usage) {
  Holders holders(game.tree);
  for (const HolderPtr& holder : held) holders.Put(holder);
  return VictimSearch(game.settings, holders, usage)
      .Find(game.preemptor, game.requests, game.contested, nullptr);
}

bool Fits(const Game& game, const Usage& usage, bool may_borrow) {
  return std::all_of(game.requests.begin(), game.requests.end(), [&](const Charge& charge) {
    const std::int64_t used = usage.At(game.preemptor.queue, charge.pair) + charge.amount;
    const auto& node = game.tree->node(game.preemptor.queue);
    return usage.Fits(game.preemptor.queue, charge.pair, charge.amount) &&
           (may_borrow || used <= node.subtree[static_cast<std::size_t>(charge.pair)]);
  });
}

// True if the requests fit without the victims, and no longer once any of them is put back.
bool SufficientAndMinimal(const Game& game, const std::vector<Victim>& victims, bool may_borrow) {
  Usage usage = game.usage;
  for (const Victim& victim : victims) usage.Remove(*victim.holder->job->admission);
  if (!Fits(game, usage, may_borrow)) return false;
  return std::none_of(victims.begin(), victims.end(), [&](const Victim& victim) {
    Usage with = usage;
    with.Add(*victim.holder->job->admission);
    return Fits(game, with, may_borrow);
  });
}

RC_GTEST_PROP(PreemptionProperty, Search_LeavesTheUsageBitIdentical, (std::uint64_t seed)) {
  const Game game = RandomGame(seed);
  Usage usage = game.usage;
  const auto victims = Search(game, game.held, &usage);
  RC_ASSERT(usage == game.usage);
  RC_CLASSIFY(!victims.empty(), "victims");
  RC_CLASSIFY(game.settings.fair_sharing.has_value(), "fair sharing");
}

RC_GTEST_PROP(PreemptionProperty, Victims_SufficeAndNoneIsNeedless, (std::uint64_t seed)) {
  const Game game = RandomGame(seed);
  Usage usage = game.usage;
  const auto victims = Search(game, game.held, &usage);
  if (victims.empty()) return;
  // A classical attempt is made with or without borrowing; fair sharing may always borrow.
  const bool fair = game.settings.fair_sharing.has_value();
  // Where the preemptor fitted all along the search starts with one candidate, which stays.
  if (victims.size() == 1 && Fits(game, game.usage, true)) return;
  RC_ASSERT(SufficientAndMinimal(game, victims, true) ||
            (!fair && SufficientAndMinimal(game, victims, false)));
}

RC_GTEST_PROP(PreemptionProperty, Victims_AreAllowedByPolicyAndNamedOnce, (std::uint64_t seed)) {
  const Game game = RandomGame(seed);
  Usage usage = game.usage;
  const auto victims = Search(game, game.held, &usage);
  const QueuePreemption& policy = game.tree->node(game.preemptor.queue).preemption;
  for (const Victim& victim : victims) {
    const Holder& holder = *victim.holder;
    const bool own = holder.queue == game.preemptor.queue;
    RC_ASSERT(SatisfiesPolicy(game.preemptor, holder,
                              own ? policy.within_cluster_queue : policy.reclaim_within_cohort));
    RC_ASSERT(own == (victim.reason == Reason::kInClusterQueue));
    RC_ASSERT(std::any_of(holder.charges.begin(), holder.charges.end(), [&](const Charge& charge) {
      return std::find(game.contested.begin(), game.contested.end(), charge.pair) !=
             game.contested.end();
    }));
    RC_ASSERT(std::count_if(victims.begin(), victims.end(), [&](const Victim& other) {
                return other.holder == victim.holder;
              }) == 1);
    RC_ASSERT(game.tree->node(holder.queue).root == game.tree->node(game.preemptor.queue).root);
  }
}

RC_GTEST_PROP(PreemptionProperty, Answer_DoesNotDependOnTheOrderOfInsertion, (std::uint64_t seed)) {
  const Game game = RandomGame(seed);
  Usage usage = game.usage;
  const auto victims = Search(game, game.held, &usage);
  std::vector<HolderPtr> shuffled = game.held;
  Dice dice(seed + 1);
  for (std::size_t i = shuffled.size(); i > 1; --i) {
    std::swap(shuffled[i - 1],
              shuffled[static_cast<std::size_t>(dice.Roll(0, static_cast<std::int64_t>(i) - 1))]);
  }
  const auto again = Search(game, shuffled, &usage);
  RC_ASSERT(victims.size() == again.size());
  for (std::size_t i = 0; i < victims.size(); ++i) {
    RC_ASSERT(victims[i].holder == again[i].holder);
    RC_ASSERT(victims[i].reason == again[i].reason);
  }
}

RC_GTEST_PROP(PreemptionProperty, Simulation_IsASearchForOnePair, (std::uint64_t seed)) {
  Game game = RandomGame(seed);
  RC_PRE(!game.requests.empty());
  const Charge wanted = game.requests.front();
  game.requests = {wanted};
  game.contested = {wanted.pair};
  Usage usage = game.usage;
  const auto victims = Search(game, game.held, &usage);
  Holders holders(game.tree);
  for (const HolderPtr& holder : game.held) holders.Put(holder);
  VictimSearch search(game.settings, holders, &usage);
  const auto outlook = search.Simulate(game.preemptor, wanted.pair, wanted.amount);
  RC_ASSERT(usage == game.usage);
  const bool own = std::any_of(victims.begin(), victims.end(), [&](const Victim& victim) {
    return victim.holder->queue == game.preemptor.queue;
  });
  using Possibility = PreemptionOutlook::Possibility;
  RC_ASSERT(outlook.possibility == (victims.empty() ? Possibility::kNoCandidates
                                    : own           ? Possibility::kPreempt
                                                    : Possibility::kReclaim));
  for (const Victim& victim : victims) usage.Remove(*victim.holder->job->admission);
  RC_ASSERT(outlook.borrowing_level ==
            usage.BorrowingLevel(game.preemptor.queue, wanted.pair, wanted.amount));
}

RC_GTEST_PROP(HoldersProperty, Sets_HoldTheLastStateOfEachJob, (std::uint64_t seed)) {
  Dice dice(seed);
  const Game game = RandomGame(seed);
  Holders holders(game.tree);
  for (const HolderPtr& holder : game.held) holders.Put(holder);
  std::size_t left = game.held.size();
  for (const HolderPtr& holder : game.held) {
    if (dice.Chance(40)) {
      holders.Erase(holder->job->id);
      --left;
    } else if (dice.Chance(30)) {
      auto changed = std::make_shared<Holder>(*holder);
      changed->evicted = !changed->evicted;
      changed->priority = dice.Roll(0, 3);
      holders.Put(changed);
      RC_ASSERT(*holders.Find(holder->job->id) == changed);
      RC_ASSERT(holders.Of(changed->queue).contains(HolderPtr(changed)));
      RC_ASSERT(std::count(holders.Of(changed->queue).begin(), holders.Of(changed->queue).end(),
                           holder) == 0);
    }
  }
  RC_ASSERT(holders.size() == left);
  std::size_t listed = 0;
  for (NodeIndex at = 0; at < static_cast<NodeIndex>(game.tree->node_count()); ++at) {
    RC_ASSERT(std::is_sorted(holders.Of(at).begin(), holders.Of(at).end(), HolderOrder{}));
    listed += holders.Of(at).size();
  }
  RC_ASSERT(listed == left);
}

}  // namespace
}  // namespace muster::core::testing
