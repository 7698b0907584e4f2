// Decide against the oracle on 50,000 random worlds: cycle by cycle with one head of each queue,
// and with many heads at once, where every stretch without outside events must end as the oracle's
// single-head cycles end.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/property/oracle/core_scheduler.h"
#include "tests/property/oracle/random_world.h"

namespace muster::oracle {
namespace {

constexpr int kWorlds = 50000;
// Cycles or stretches of one world: enough for chains of evictions, and an end for those worlds in
// which two workloads evict each other for ever.
constexpr int kMost = 14;

std::string TextOf(const World& world, const Holding& holding) {
  std::string text;
  for (std::size_t i = 0; i < holding.counts.size(); ++i) {
    text += " " + std::to_string(holding.counts[i]) + "(";
    for (const auto& [resource, flavor] : holding.flavors[i]) {
      text += world.resources[static_cast<std::size_t>(resource)] + "@" +
              world.flavors[static_cast<std::size_t>(flavor)].name + " ";
    }
    text += ")";
  }
  return text;
}

std::string TextOf(core::RequeueReason requeue) {
  return "requeue " + std::to_string(static_cast<int>(requeue));
}

core::RequeueReason RequeueOf(Requeue requeue) {
  switch (requeue) {
    case Requeue::kFailedAfterNomination:
      return core::RequeueReason::kFailedAfterNomination;
    case Requeue::kNoFit:
      return core::RequeueReason::kNoFit;
    case Requeue::kNoCandidates:
      return core::RequeueReason::kPreemptionNoCandidates;
    case Requeue::kGated:
      return core::RequeueReason::kPreemptionGated;
    case Requeue::kPendingPreemption:
      return core::RequeueReason::kPendingPreemption;
  }
  return core::RequeueReason::kGeneric;
}

struct Texts {
  std::set<std::string> lines;
  void Admitted(const World& world, int workload, const Holding& holding) {
    lines.insert("admits " + std::to_string(workload) + TextOf(world, holding));
  }
  void Evicted(int workload, Reason reason) {
    lines.insert("evicts " + std::to_string(workload) + " " + std::string(ReasonName(reason)));
  }
  void Waits(int workload, core::RequeueReason requeue) {
    lines.insert("leaves " + std::to_string(workload) + " " + TextOf(requeue));
  }
  void Active(int workload) { lines.insert("active " + std::to_string(workload)); }
};

void AddMoves(const World& world, const Decisions& decisions, Texts* texts) {
  for (const auto& of : decisions.admitted) texts->Admitted(world, of.workload, of.holding);
  for (const auto& of : decisions.evicted) {
    if (!of.already) texts->Evicted(of.victim.workload, ReasonOf(of.victim.cause));
  }
}

void AddMoves(const World& world, const CoreDecisions& decisions, Texts* texts) {
  for (const auto& [workload, holding] : decisions.admitted) {
    texts->Admitted(world, workload, holding);
  }
  for (const auto& [workload, reason] : decisions.evicted) texts->Evicted(workload, reason);
}

std::string Difference(const Texts& expected, const Texts& actual) {
  std::string text;
  for (const auto& line : expected.lines) {
    if (actual.lines.count(line) == 0) text += "  oracle " + line + "\n";
  }
  for (const auto& line : actual.lines) {
    if (expected.lines.count(line) == 0) text += "  core   " + line + "\n";
  }
  return text;
}

bool AnyEvicting(const World& world) {
  return std::any_of(world.workloads.begin(), world.workloads.end(),
                     [](const Workload& of) { return of.evicting; });
}

// Ends one running workload, if any, so that waiting ones may be admitted.
bool FinishOne(World* world, CoreScheduler* core) {
  for (int i = 0; i < static_cast<int>(world->workloads.size()); ++i) {
    if (!world->workloads[static_cast<std::size_t>(i)].holding) continue;
    Finish(world, i);
    core->Finish(i);
    return true;
  }
  return false;
}

// "" if both agree on every cycle of this world.
std::string SingleHead(World world, std::uint64_t seed) {
  CoreScheduler core(world);
  Draw draw(seed + 1);
  std::set<std::string> seen;
  for (int cycle = 0; cycle < kMost; ++cycle) {
    if (draw.Percent(70)) core.SetClock(++world.clock);
    const World before = world;
    const Decisions expected = RunCycle(&world);
    const CoreDecisions actual = core.SingleHeadCycle();
    Texts wanted;
    Texts got;
    AddMoves(world, expected, &wanted);
    AddMoves(world, actual, &got);
    for (const auto& of : expected.waiting) wanted.Waits(of.workload, RequeueOf(of.requeue));
    for (const auto& [workload, waits] : actual.waiting) got.Waits(workload, waits.requeue);
    for (int i = 0; i < static_cast<int>(world.workloads.size()); ++i) {
      if (IsActive(world, i)) wanted.Active(i);
      if (core.IsActive(i)) got.Active(i);
    }
    const std::string difference = Difference(wanted, got);
    if (!difference.empty()) {
      return "cycle " + std::to_string(cycle) + "\n" + difference + Describe(before);
    }
    const bool still = !expected.Moves() && !seen.insert(StateOf(world)).second;
    if (AnyEvicting(world) && (still || draw.Percent(60))) {
      FinishEvictions(&world);
      core.FinishEvictions();
      seen.clear();
    } else if (still) {
      if (!FinishOne(&world, &core)) return "";
      seen.clear();
    }
  }
  return "";
}

// The oracle's decisions until nothing changes, without events from outside.
struct Stretch {
  Texts moves;
  // The world does not come to rest: a head tries its flavors round and round, so its next decision
  // depends on when the next event comes.
  bool turning = false;
};

Stretch RunStretch(World* world) {
  Stretch stretch;
  std::vector<std::string> states;
  while (true) {
    const Decisions decisions = RunCycle(world);
    AddMoves(*world, decisions, &stretch.moves);
    if (decisions.Moves()) states.clear();
    const std::string state = StateOf(*world);
    if (std::count(states.begin(), states.end(), state) > 0) {
      stretch.turning = state != states.back();
      return stretch;
    }
    states.push_back(state);
  }
}

std::string ManyHeads(World world, std::uint64_t seed) {
  CoreScheduler core(world);
  const std::size_t per_queue = seed % 3 == 0 ? 2 : 1000;
  for (int stretch = 0; stretch < kMost; ++stretch) {
    core.SetClock(++world.clock);
    const World before = world;
    const Stretch expected = RunStretch(&world);
    Texts got;
    AddMoves(world, core.ManyHeads(per_queue), &got);
    const std::string difference = Difference(expected.moves, got);
    if (!difference.empty()) {
      return "stretch " + std::to_string(stretch) + "\n" + difference + Describe(before);
    }
    if (expected.turning) return "";
    if (AnyEvicting(world)) {
      FinishEvictions(&world);
      core.FinishEvictions();
    } else if (!FinishOne(&world, &core)) {
      return "";
    }
  }
  return "";
}

using Comparison = std::string (*)(World, std::uint64_t);

// Simpler worlds than this one, each by one step.
std::vector<World> Simpler(const World& world) {
  std::vector<World> simpler;
  const auto add = [&](const auto& change) {
    World copy = world;
    change(&copy);
    if (Describe(copy) != Describe(world)) simpler.push_back(std::move(copy));
  };
  for (std::size_t i = 0; i < world.workloads.size(); ++i) {
    add([i](World* copy) {
      Workload& of = copy->workloads[i];
      of.done = true;
      of.holding.reset();
      of.evicting = false;
      Queue& queue = copy->queues[static_cast<std::size_t>(of.queue)];
      queue.active.erase(static_cast<int>(i));
      queue.parked.erase(static_cast<int>(i));
    });
    add([i](World* copy) { copy->workloads[i].evicting = copy->workloads[i].gated = false; });
    add([i](World* copy) { copy->workloads[i].priority = 0; });
    for (std::size_t p = 0; p < world.workloads[i].pods.size(); ++p) {
      add([i, p](World* copy) { copy->workloads[i].pods[p].min_count.reset(); });
      add([i, p](World* copy) { copy->workloads[i].pods[p].selector.clear(); });
    }
  }
  for (std::size_t i = 0; i < world.queues.size(); ++i) {
    add([i](World* copy) { copy->queues[i].within = EvictPolicy::kNever; });
    add([i](World* copy) {
      copy->queues[i].reclaim = EvictPolicy::kNever;
      copy->queues[i].borrow_while_preempting = false;
    });
    add([i](World* copy) { copy->queues[i].weight = 1; });
    for (const auto& [pair, limits] : world.queues[i].quotas) {
      add([i, of = pair](World* copy) {
        copy->queues[i].quotas[of] = {copy->queues[i].quotas[of].nominal, {}, {}};
      });
    }
  }
  for (std::size_t i = 0; i < world.cohorts.size(); ++i) {
    add([i](World* copy) { copy->cohorts[i].quotas.clear(); });
    add([i](World* copy) { copy->cohorts[i].weight = 1; });
  }
  add([](World* copy) { copy->settings = {copy->settings.fair, copy->settings.strategies}; });
  return simpler;
}

// The report on a world in which they differ, made as simple as it can be.
std::string Simplest(Comparison compare, World world, std::uint64_t seed) {
  std::string report = compare(world, seed);
  for (bool found = !report.empty(); found;) {
    found = false;
    for (World& simpler : Simpler(world)) {
      std::string other = compare(simpler, seed);
      if (other.empty()) continue;
      world = std::move(simpler);
      report = std::move(other);
      found = true;
      break;
    }
  }
  return report;
}

// MUSTER_ORACLE_SHARD=i/n compares part i (from 0) of n; without it everything is compared.
void CompareShard(Comparison compare) {
  int shard = 0;
  int shards = 1;
  if (const char* text = std::getenv("MUSTER_ORACLE_SHARD")) {
    ASSERT_EQ(std::sscanf(text, "%d/%d", &shard, &shards), 2) << text;
    ASSERT_TRUE(shard >= 0 && shard < shards) << text;
  }
  int worlds = 0;
  for (int i = shard; i < kWorlds; i += shards) {
    const auto seed = static_cast<std::uint64_t>(i);
    const World world = RandomWorld(seed);
    ++worlds;
    if (compare(world, seed).empty()) continue;
    FAIL() << "seed " << seed << ", " << Simplest(compare, world, seed);
  }
  std::printf("R35 figure=0 different of %d worlds bar=0 of %d\n", worlds, kWorlds);
}

TEST(CycleAgreement, OneHeadPerQueue_EveryCycleDecidesWhatTheOracleDecides) {
  CompareShard(SingleHead);
}

TEST(CycleAgreement, ManyHeads_EndWhereTheOraclesSingleHeadCyclesEnd) { CompareShard(ManyHeads); }

}  // namespace
}  // namespace muster::oracle
