// Quota trees of up to 200 queues and depth 6: what schedd/core keeps up to date equals what the
// oracle sums up anew, and taking no more than Fits allows exceeds no limit (rule A25).
#include <gtest/gtest.h>

#include <algorithm>

#include "schedd/core/quota/quota_tree.h"
#include "tests/property/oracle/random_world.h"
#include "tests/property/oracle/translate.h"

namespace muster::oracle {
namespace {

constexpr int kTrees = 400;
constexpr int kDepth = 6;

int DepthOf(const World& world, int cohort) {
  int depth = 0;
  for (; cohort >= 0; cohort = world.cohorts[static_cast<std::size_t>(cohort)].cohort) ++depth;
  return depth;
}

Limits RandomLimits(Draw* draw, int most, bool has_parent) {
  Limits limits;
  limits.nominal = draw->Between(0, most);
  if (has_parent && draw->Percent(30)) limits.borrowing = draw->Between(0, most);
  if (has_parent && draw->Percent(30)) limits.lending = draw->Between(0, most);
  return limits;
}

// Up to 60 cohorts, each below an earlier one, deep ones preferred; queues only where the tree is.
World RandomForest(Draw* draw) {
  World world;
  world.resources = {"cpu", "gpu"};
  world.flavors = {{"f0", {}, ""}, {"f1", {}, ""}};
  const int cohorts = draw->Between(0, 60);
  for (int i = 0; i < cohorts; ++i) {
    Place cohort;
    cohort.name = "c" + std::to_string(100 + i);
    if (i > 0 && draw->Percent(92)) {
      const int parent = draw->Percent(50) ? i - 1 : draw->Between(0, i - 1);
      if (DepthOf(world, parent) < kDepth) cohort.cohort = parent;
    }
    for (int pair = 0; pair < world.Pairs(); ++pair) {
      if (draw->Percent(40)) cohort.quotas[pair] = RandomLimits(draw, 30, cohort.cohort >= 0);
    }
    world.cohorts.push_back(cohort);
  }
  const int queues = draw->Between(1, 200);
  for (int i = 0; i < queues; ++i) {
    Queue queue;
    queue.name = "q" + std::to_string(1000 + i);
    if (cohorts > 0 && draw->Percent(95)) queue.cohort = draw->Between(0, cohorts - 1);
    queue.groups = {{{0, 1}, {0, 1}}};
    for (int pair = 0; pair < world.Pairs(); ++pair) {
      queue.quotas[pair] = RandomLimits(draw, 12, queue.cohort >= 0);
    }
    world.queues.push_back(queue);
  }
  return world;
}

// A tree, its usage as core keeps it, and the same as a list.
struct Both {
  World world;
  core::QuotaTreePtr tree;
  core::Usage usage;
  Ledger ledger;

  explicit Both(Draw* draw)
      : world(RandomForest(draw)), tree(core::QuotaTree::Build(*ConfigOf(world))), usage(tree) {}

  core::NodeIndex NodeOf(int node) const {
    const auto queues = static_cast<int>(world.queues.size());
    if (node < queues) {
      return tree->ClusterQueueIndex(world.queues[static_cast<std::size_t>(node)].name);
    }
    return tree->CohortIndex(world.cohorts[static_cast<std::size_t>(node - queues)].name);
  }
  core::FlavorResourceIndex PairOf(int pair) const {
    return tree->PairIndex(world.flavors[static_cast<std::size_t>(pair / 2)].name,
                           world.resources[static_cast<std::size_t>(pair % 2)]);
  }
  int Nodes() const { return static_cast<int>(world.queues.size() + world.cohorts.size()); }
  int RandomQueue(Draw* draw) const {
    return draw->Between(0, static_cast<int>(world.queues.size()) - 1);
  }

  void Add(int queue, int pair, Amount amount) {
    HeldQuota held{
        queue, -1, std::vector<Amount>(static_cast<std::size_t>(world.Pairs())), false, {}};
    held.amounts[static_cast<std::size_t>(pair)] = amount;
    ledger.push_back(held);
    usage.Add(NodeOf(queue), PairOf(pair), amount);
  }
  void Remove(int item) {
    const HeldQuota held = ledger[static_cast<std::size_t>(item)];
    ledger.erase(ledger.begin() + item);
    for (int pair = 0; pair < world.Pairs(); ++pair) {
      const Amount amount = held.amounts[static_cast<std::size_t>(pair)];
      if (amount > 0) usage.Remove(NodeOf(held.queue), PairOf(pair), amount);
    }
  }
};

void ExpectEqualSums(const Both& both, int node, int pair) {
  const Sums sums(both.world, both.ledger);
  const core::NodeIndex at = both.NodeOf(node);
  const core::FlavorResourceIndex of = both.PairOf(pair);
  EXPECT_EQ(both.usage.At(at, of), sums.Used(node, pair));
  EXPECT_EQ(both.usage.Potential(at, of), sums.Potential(node, pair));
  EXPECT_EQ(both.usage.LocalAvailable(at, of), sums.LocalAvailable(node, pair));
  const Amount available =
      sums.IsQueue(node) ? sums.Available(node, pair) : sums.AvailableAt(node, pair);
  EXPECT_EQ(both.usage.Available(at, of), available);
}

TEST(QuotaTrees, TheForestsAreAsLargeAsTheyShouldBe) {
  int deepest = 0;
  std::size_t widest = 0;
  for (int seed = 0; seed < kTrees; ++seed) {
    Draw draw(static_cast<std::uint64_t>(seed));
    const World world = RandomForest(&draw);
    widest = std::max(widest, world.queues.size());
    for (int i = 0; i < static_cast<int>(world.cohorts.size()); ++i) {
      deepest = std::max(deepest, DepthOf(world, i));
    }
  }
  EXPECT_EQ(deepest, kDepth);
  EXPECT_GE(widest, 195u);
}

TEST(QuotaTrees, WhatIsKeptEqualsWhatIsSummedUp_AfterAnyAddingAndRemoving) {
  for (int seed = 0; seed < kTrees && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(static_cast<std::uint64_t>(seed));
    Both both(&draw);
    for (int step = 0; step < 300; ++step) {
      const int pair = draw.Between(0, both.world.Pairs() - 1);
      if (!both.ledger.empty() && draw.Percent(45)) {
        both.Remove(draw.Between(0, static_cast<int>(both.ledger.size()) - 1));
      } else {
        // Also beyond any limit: an administrator may have made a quota smaller.
        both.Add(both.RandomQueue(&draw), pair, draw.Between(0, 20));
      }
      if (step % 10 == 0) ExpectEqualSums(both, draw.Between(0, both.Nodes() - 1), pair);
    }
    for (int node = 0; node < both.Nodes(); ++node) ExpectEqualSums(both, node, seed % 4);
    while (!both.ledger.empty()) both.Remove(static_cast<int>(both.ledger.size()) - 1);
    EXPECT_TRUE(both.usage == core::Usage(both.tree));
  }
}

bool IsAbove(const World& world, int cohort, int other) {
  for (int at = other; at >= 0; at = world.cohorts[static_cast<std::size_t>(at)].cohort) {
    if (at == cohort) return true;
  }
  return false;
}

// What an administrator may change while workloads hold quota: limits, places in the tree, and a
// cohort's object taken away, which leaves a cohort without quota and parent (rule A25).
void Edit(Draw* draw, World* world) {
  const int pair = draw->Between(0, world->Pairs() - 1);
  if (world->cohorts.empty() || draw->Percent(50)) {
    const int last = static_cast<int>(world->queues.size()) - 1;
    Queue& queue = world->queues[static_cast<std::size_t>(draw->Between(0, last))];
    if (draw->Percent(60) || world->cohorts.empty()) {
      queue.quotas[pair] = RandomLimits(draw, 12, queue.cohort >= 0);
    } else {
      queue.cohort = draw->Between(-1, static_cast<int>(world->cohorts.size()) - 1);
    }
    return;
  }
  const int index = draw->Between(0, static_cast<int>(world->cohorts.size()) - 1);
  Place& cohort = world->cohorts[static_cast<std::size_t>(index)];
  const int parent = draw->Between(0, static_cast<int>(world->cohorts.size()) - 1);
  if (draw->Percent(50)) {
    cohort.quotas[pair] = RandomLimits(draw, 30, cohort.cohort >= 0);
  } else if (draw->Percent(30)) {
    cohort.quotas.clear();
    cohort.cohort = -1;
  } else if (!IsAbove(*world, index, parent) && DepthOf(*world, parent) < kDepth) {
    cohort.cohort = parent;
  }
}

// As an engine does: a new tree, and what is held charged to it.
void Configure(Both* both) {
  both->tree = core::QuotaTree::Build(*ConfigOf(both->world));
  both->usage = core::Usage(both->tree);
  for (const HeldQuota& held : both->ledger) {
    for (int pair = 0; pair < both->world.Pairs(); ++pair) {
      const Amount amount = held.amounts[static_cast<std::size_t>(pair)];
      if (amount > 0) both->usage.Add(both->NodeOf(held.queue), both->PairOf(pair), amount);
    }
  }
}

TEST(QuotaTrees, WhatIsKeptEqualsWhatIsSummedUp_AlsoWhereTheConfigurationChanges) {
  for (int seed = 0; seed < kTrees && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(static_cast<std::uint64_t>(seed) + 3000);
    Both both(&draw);
    for (int step = 0; step < 60; ++step) {
      const int pair = draw.Between(0, both.world.Pairs() - 1);
      if (draw.Percent(15)) {
        Edit(&draw, &both.world);
        Configure(&both);
      } else if (!both.ledger.empty() && draw.Percent(40)) {
        both.Remove(draw.Between(0, static_cast<int>(both.ledger.size()) - 1));
      } else {
        both.Add(both.RandomQueue(&draw), pair, draw.Between(0, 20));
      }
      for (int look = 0; look < 3; ++look) {
        ExpectEqualSums(both, draw.Between(0, both.Nodes() - 1), pair);
      }
    }
    for (int node = 0; node < both.Nodes(); node += 3) ExpectEqualSums(both, node, seed % 4);
  }
}

TEST(QuotaTrees, TakingWhatFitsExceedsNoLimit) {
  for (int seed = 0; seed < kTrees && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(static_cast<std::uint64_t>(seed) + 1000);
    Both both(&draw);
    for (int step = 0; step < 400; ++step) {
      const int queue = both.RandomQueue(&draw);
      const int pair = draw.Between(0, both.world.Pairs() - 1);
      const Amount amount = draw.Between(1, 25);
      if (both.usage.Fits(both.NodeOf(queue), both.PairOf(pair), amount)) {
        both.Add(queue, pair, amount);
      }
      if (!both.ledger.empty() && draw.Percent(25)) {
        both.Remove(draw.Between(0, static_cast<int>(both.ledger.size()) - 1));
      }
    }
    const Sums sums(both.world, both.ledger);
    for (int node = 0; node < both.Nodes(); ++node) {
      for (int pair = 0; pair < both.world.Pairs(); ++pair) {
        const Amount used = sums.Used(node, pair);
        const Limits& limits = sums.LimitsOf(node, pair);
        const Amount subtree = sums.Subtree(node, pair);
        const Amount most = sums.Parent(node) < 0 ? subtree
                            : limits.borrowing    ? subtree + *limits.borrowing
                                                  : kUnbounded;
        EXPECT_LE(used, most);
        if (sums.Parent(node) < 0 || !limits.lending) continue;
        // What its siblings and cohorts above can reach of it is at most what it lends.
        EXPECT_LE(subtree - sums.Local(node, pair), *limits.lending);
      }
    }
  }
}

TEST(QuotaTrees, BorrowingLevelsAgree) {
  for (int seed = 0; seed < kTrees && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(static_cast<std::uint64_t>(seed) + 2000);
    Both both(&draw);
    for (int step = 0; step < 60; ++step) {
      const int queue = both.RandomQueue(&draw);
      const int pair = draw.Between(0, both.world.Pairs() - 1);
      const Amount amount = draw.Between(1, 60);
      const Sums sums(both.world, both.ledger);
      const Level level = sums.BorrowingLevel(queue, pair, amount);
      const core::NodeIndex at = both.NodeOf(queue);
      const core::FlavorResourceIndex of = both.PairOf(pair);
      EXPECT_EQ(both.usage.BorrowingLevel(at, of, amount), level.height);
      EXPECT_EQ(both.usage.EndsBelowRoot(at, of, amount), level.proper_subtree);
      EXPECT_EQ(both.usage.Fits(at, of, amount), amount <= sums.Available(queue, pair));
      both.Add(queue, pair, std::min<Amount>(amount, 15));
    }
  }
}

}  // namespace
}  // namespace muster::oracle
