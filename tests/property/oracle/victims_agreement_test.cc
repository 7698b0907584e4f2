// The victim search of schedd/core against the oracle's, on random worlds: the same victims for the
// same causes.
#include <gtest/gtest.h>

#include <algorithm>

#include "schedd/core/preempt/preemption.h"
#include "tests/property/oracle/random_world.h"
#include "tests/property/oracle/translate.h"
#include "tests/property/oracle/victims.h"

namespace muster::oracle {
namespace {

constexpr int kWorlds = 50000;

// The wish of a waiting workload: flavors drawn at random; those without room are contested.
Wish RandomWish(const World& world, int workload, Draw* draw) {
  const Workload& of = world.workloads[static_cast<std::size_t>(workload)];
  Wish wish;
  wish.workload = workload;
  wish.amounts.resize(static_cast<std::size_t>(world.Pairs()));
  std::set<int> pairs;
  for (const Pods& pods : of.pods) {
    for (const Group& group : world.queues[static_cast<std::size_t>(of.queue)].groups) {
      const int last = static_cast<int>(group.flavors.size()) - 1;
      const int flavor = group.flavors[static_cast<std::size_t>(draw->Between(0, last))];
      for (const int resource : group.resources) {
        const auto it = pods.requests.find(resource);
        if (it == pods.requests.end()) continue;
        const int pair = world.Pair(flavor, resource);
        wish.amounts[static_cast<std::size_t>(pair)] += it->second * pods.count;
        pairs.insert(pair);
      }
    }
  }
  const Ledger ledger = LedgerOf(world);
  const Sums sums(world, ledger);
  for (const int pair : pairs) {
    wish.pairs.push_back(pair);
    const Amount amount = wish.amounts[static_cast<std::size_t>(pair)];
    if (amount > sums.Available(of.queue, pair)) wish.contested.push_back(pair);
  }
  return wish;
}

struct Core {
  AdmissionSettingsPtr settings;
  core::QuotaTreePtr tree;
  core::Usage usage;
  core::Holders holders;

  explicit Core(const World& world)
      : settings(SettingsOf(world)),
        tree(core::QuotaTree::Build(*ConfigOf(world))),
        usage(tree),
        holders(tree) {
    for (int i = 0; i < static_cast<int>(world.workloads.size()); ++i) {
      if (!world.workloads[static_cast<std::size_t>(i)].holding) continue;
      const JobPtr job = RecordOf(world, i);
      usage.Add(*job->admission);
      holders.Put(core::MakeHolder(*tree, *settings, job));
    }
  }

  core::FlavorResourceIndex PairOf(const World& world, int pair) const {
    const int count = static_cast<int>(world.resources.size());
    return tree->PairIndex(world.flavors[static_cast<std::size_t>(pair / count)].name,
                           world.resources[static_cast<std::size_t>(pair % count)]);
  }

  std::vector<std::pair<int, Reason>> Find(const World& world, const Wish& wish) {
    core::Charges requests;
    std::vector<core::FlavorResourceIndex> contested;
    for (const int pair : wish.pairs) {
      requests.push_back({PairOf(world, pair), wish.amounts[static_cast<std::size_t>(pair)]});
    }
    std::sort(requests.begin(), requests.end(),
              [](const auto& a, const auto& b) { return a.pair < b.pair; });
    for (const int pair : wish.contested) contested.push_back(PairOf(world, pair));
    std::sort(contested.begin(), contested.end());
    const JobPtr job = RecordOf(world, wish.workload);
    const core::Preemptor preemptor{job.get(), tree->ClusterQueueIndex(job->cluster_queue),
                                    job->priority, job->submit_time};
    core::VictimSearch search(*settings, holders, &usage);
    std::vector<std::pair<int, Reason>> victims;
    for (const auto& victim : search.Find(preemptor, requests, contested, nullptr)) {
      victims.emplace_back(WorkloadOf(*victim.holder->job), victim.reason);
    }
    return victims;
  }
};

TEST(VictimAgreement, CoreEvictsWhomTheOracleEvicts) {
  int compared = 0;
  int found = 0;
  for (int seed = 0; seed < kWorlds; ++seed) {
    const World world = RandomWorld(static_cast<std::uint64_t>(seed));
    Core core(world);
    Draw draw(static_cast<std::uint64_t>(seed) + 1);
    for (int i = 0; i < static_cast<int>(world.workloads.size()); ++i) {
      if (world.workloads[static_cast<std::size_t>(i)].holding) continue;
      const Wish wish = RandomWish(world, i, &draw);
      if (wish.contested.empty()) continue;
      Ledger ledger = LedgerOf(world);
      const std::vector<Victim> expected = FindVictims(world, wish, &ledger);
      std::vector<std::pair<int, Reason>> victims;
      for (const Victim& victim : expected) {
        victims.emplace_back(victim.workload, ReasonOf(victim.cause));
      }
      const core::Usage before = core.usage;
      auto actual = core.Find(world, wish);
      EXPECT_TRUE(core.usage == before) << "the search left its traces; seed " << seed;
      ++compared;
      found += victims.empty() ? 0 : 1;
      if (actual == victims) continue;
      std::string text;
      for (const auto& [workload, reason] : actual) {
        text += " " + std::to_string(workload) + ":" + std::string(ReasonName(reason));
      }
      text += " instead of";
      for (const auto& [workload, reason] : victims) {
        text += " " + std::to_string(workload) + ":" + std::string(ReasonName(reason));
      }
      FAIL() << "seed " << seed << ", workload " << i << " evicts" << text << "\n"
             << Describe(world);
    }
  }
  EXPECT_GT(found, kWorlds / 10) << "of " << compared << ": the worlds have become too easy";
}

}  // namespace
}  // namespace muster::oracle
