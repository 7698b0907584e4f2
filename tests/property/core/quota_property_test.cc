// Properties of quota arithmetic on random cohort forests of depth up to 6.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "schedd/base/quantity.h"
#include "tests/property/core/random_world.h"
#include "tests/support/usage_check.h"

namespace muster::core::testing {
namespace {

struct Forest {
  QuotaTreePtr tree;
  NodeIndex queues = 0;  // the queues are the first nodes
  FlavorResourceIndex pairs = 0;
};

Forest RandomForest(Dice* dice, std::int64_t most) {
  Shape shape;
  shape.queues = static_cast<int>(dice->Roll(1, 12));
  shape.cohorts = static_cast<int>(dice->Roll(0, 8));
  shape.most = most;
  const ConfigView config = RandomConfig(dice, shape);
  Forest forest;
  forest.tree = QuotaTree::Build(config);
  forest.queues = static_cast<NodeIndex>(config.cluster_queues.size());
  forest.pairs = static_cast<FlavorResourceIndex>(forest.tree->flavor_resource_count());
  return forest;
}

// A job that holds `amount` of one pair at one queue.
JobPtr Holder(const QuotaTree& tree, NodeIndex queue, FlavorResourceIndex pair,
              std::int64_t amount) {
  const auto& [flavor, resource] = tree.pair(pair);
  auto job = std::make_shared<JobRecord>();
  job->admission = std::make_shared<const Admission>(
      Admission{tree.node(queue).name, {{"main", 1, {{resource, flavor}}, {{resource, amount}}}}});
  return job;
}

RC_GTEST_PROP(QuotaProperty, IncrementalUsage_EqualsRecomputedUsage, (std::uint64_t seed)) {
  Dice dice(seed);
  const bool huge = dice.Chance(30);
  const Forest forest = RandomForest(&dice, huge ? kUnlimited / 64 : 12);
  Usage usage(forest.tree);
  std::vector<JobPtr> held;
  for (int step = 0; step < 60; ++step) {
    if (!held.empty() && dice.Chance(40)) {
      const auto last = static_cast<std::int64_t>(held.size()) - 1;
      const auto at = static_cast<std::size_t>(dice.Roll(0, last));
      usage.Remove(*held[at]->admission);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      // Also beyond any quota: an administrator may have shrunk it.
      const auto queue = static_cast<NodeIndex>(dice.Roll(0, forest.queues - 1));
      const auto pair = static_cast<FlavorResourceIndex>(dice.Roll(0, forest.pairs - 1));
      held.push_back(Holder(*forest.tree, queue, pair, dice.Roll(0, huge ? kUnlimited / 128 : 15)));
      usage.Add(*held.back()->admission);
    }
    RC_ASSERT(UsageDifferences(usage, held).empty());
  }
  RC_ASSERT(usage == Recompute(forest.tree, held));
  for (const auto& job : held) usage.Remove(*job->admission);
  RC_ASSERT(usage == Usage(forest.tree));
}

// What rule A25 says may not be exceeded, written as bounds on usage and not as availability.
void AssertWithinLimits(const Usage& usage, const Forest& forest) {
  for (NodeIndex at = 0; at < static_cast<NodeIndex>(forest.tree->node_count()); ++at) {
    const auto& node = forest.tree->node(at);
    for (FlavorResourceIndex pair = 0; pair < forest.pairs; ++pair) {
      const auto index = static_cast<std::size_t>(pair);
      const std::int64_t used = usage.At(at, pair);
      RC_ASSERT(used >= 0);
      if (node.parent < 0) {
        RC_ASSERT(used <= node.subtree[index]);
      } else if (node.quotas[index].borrowing_limit) {
        RC_ASSERT(used <= SaturatingAdd(node.subtree[index], *node.quotas[index].borrowing_limit));
      }
    }
  }
}

RC_GTEST_PROP(QuotaProperty, TakingOnlyWhatFits_ExceedsNoLimit_AndTakingOneMoreWould,
              (std::uint64_t seed)) {
  Dice dice(seed);
  const Forest forest = RandomForest(&dice, 12);
  Usage usage(forest.tree);
  for (int step = 0; step < 40; ++step) {
    const auto queue = static_cast<NodeIndex>(dice.Roll(0, forest.queues - 1));
    const auto pair = static_cast<FlavorResourceIndex>(dice.Roll(0, forest.pairs - 1));
    const std::int64_t available = usage.Available(queue, pair);
    RC_ASSERT(available <= usage.Potential(queue, pair));
    RC_ASSERT(usage.Fits(queue, pair, available));
    RC_ASSERT(!usage.Fits(queue, pair, available + 1));
    // Nothing was taken beyond limits before, so what is offered must be takable and exactly
    // exhausting.
    Usage full = usage;
    full.Add(queue, pair, available);
    AssertWithinLimits(full, forest);
    RC_ASSERT(full.Available(queue, pair) == 0);
    usage.Add(queue, pair, dice.Roll(0, available));
    AssertWithinLimits(usage, forest);
  }
}

RC_GTEST_PROP(QuotaProperty, LendingLimit_LimitsWhatOthersCanGet, (std::uint64_t seed)) {
  Dice dice(seed);
  const Forest forest = RandomForest(&dice, 12);
  const Usage empty(forest.tree);
  for (NodeIndex at = 0; at < static_cast<NodeIndex>(forest.tree->node_count()); ++at) {
    const auto& node = forest.tree->node(at);
    if (node.parent < 0) continue;
    for (FlavorResourceIndex pair = 0; pair < forest.pairs; ++pair) {
      const auto index = static_cast<std::size_t>(pair);
      const auto& limit = node.quotas[index].lending_limit;
      const std::int64_t given = node.subtree[index] - node.local[index];
      RC_ASSERT(given >= 0);
      RC_ASSERT(given <= node.subtree[index]);
      if (limit) RC_ASSERT(given == std::min(*limit, node.subtree[index]));
      if (!limit) RC_ASSERT(given == node.subtree[index]);
    }
  }
}

RC_GTEST_PROP(QuotaProperty, BorrowingLevel_IsZeroExactlyWithinNominal, (std::uint64_t seed)) {
  Dice dice(seed);
  const Forest forest = RandomForest(&dice, 12);
  Usage usage(forest.tree);
  for (int step = 0; step < 20; ++step) {
    const auto queue = static_cast<NodeIndex>(dice.Roll(0, forest.queues - 1));
    const auto pair = static_cast<FlavorResourceIndex>(dice.Roll(0, forest.pairs - 1));
    const auto& node = forest.tree->node(queue);
    const std::int64_t amount = dice.Roll(0, 20);
    const std::int32_t level = usage.BorrowingLevel(queue, pair, amount);
    const auto nominal = node.quotas[static_cast<std::size_t>(pair)].nominal;
    const bool borrows = usage.At(queue, pair) + amount > nominal && node.parent >= 0;
    RC_ASSERT((level > 0) == borrows);
    RC_ASSERT(level <= forest.tree->node(node.root).height);
    usage.Add(queue, pair, std::min(amount, usage.Available(queue, pair)));
  }
}

}  // namespace
}  // namespace muster::core::testing
