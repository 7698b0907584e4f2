// Plans of many heads against single-head cycles of the same core: the same admissions and
// evictions in the same order, with victims on their way, endings and arrivals in between
// (schedd/core/README "How a cycle runs" says what is compared).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/property/oracle/core_scheduler.h"
#include "tests/property/oracle/random_world.h"

namespace muster::oracle {
namespace {

constexpr int kWorlds = 20000;
// Outside events of one world.
constexpr int kEvents = 12;
// Single-head cycles in a row without a move after which nothing moves any more: more than two
// rounds of any scan, and of two that are out of step, over three flavors.
constexpr int kIdle = 24;

struct Stretch {
  std::vector<CoreDecisions::Move> moves;
  std::map<int, Holding> admitted;
  // A head still goes from flavor to flavor: its next decision depends on when the next event
  // comes.
  bool turning = false;
};

Stretch SingleHeads(CoreScheduler* core) {
  Stretch stretch;
  for (int idle = 0; idle < kIdle; ++idle) {
    const CoreDecisions decisions = core->SingleHeadCycle();
    if (!decisions.moves.empty()) {
      idle = -1;
      stretch.turning = false;
    }
    stretch.turning = stretch.turning || (idle > kIdle / 2 && decisions.scanning);
    stretch.moves.insert(stretch.moves.end(), decisions.moves.begin(), decisions.moves.end());
    for (const auto& [workload, holding] : decisions.admitted) {
      stretch.admitted[workload] = holding;
    }
  }
  return stretch;
}

std::string TextOf(const std::vector<CoreDecisions::Move>& moves) {
  std::string text;
  for (const auto& move : moves) {
    text += move.preemptor < 0 ? "  admits " : "  evicts ";
    text += std::to_string(move.workload);
    if (move.preemptor >= 0) {
      text += " for " + std::to_string(move.preemptor) + " " + std::string(ReasonName(move.reason));
    }
    text += "\n";
  }
  return text;
}

// One event from outside, the same for both schedulers; false if none is left. Some victims may
// stop while others are still stopping.
bool Happens(Draw* draw, CoreScheduler* one, CoreScheduler* other, std::vector<int>* late) {
  std::vector<int> evicting, running;
  const World& world = one->world();
  for (int i = 0; i < static_cast<int>(world.workloads.size()); ++i) {
    const Workload& of = world.workloads[static_cast<std::size_t>(i)];
    if (of.holding) (of.evicting ? evicting : running).push_back(i);
  }
  if (!late->empty() && draw->Percent(40)) {
    for (CoreScheduler* core : {one, other}) core->Arrive(late->back());
    late->pop_back();
  } else if (!evicting.empty() && draw->Percent(80)) {
    if (draw->Percent(50)) evicting.resize(1);
    for (CoreScheduler* core : {one, other}) core->FinishEvictions(evicting);
  } else if (!running.empty()) {
    const int last = static_cast<int>(running.size()) - 1;
    const int ends = running[static_cast<std::size_t>(draw->Between(0, last))];
    for (CoreScheduler* core : {one, other}) core->Finish(ends);
  } else {
    return !evicting.empty() || !late->empty();
  }
  return true;
}

struct Seen {
  int evictions = 0, admissions = 0, on_the_way = 0;
};

void Compare(std::uint64_t seed, Seen* seen) {
  World world = RandomWorld(seed);
  Draw draw(seed + 7);
  std::vector<int> late;
  for (int i = 0; i < static_cast<int>(world.workloads.size()); ++i) {
    Workload& of = world.workloads[static_cast<std::size_t>(i)];
    if (of.holding || !draw.Percent(25)) continue;
    of.done = true;
    late.push_back(i);
  }
  CoreScheduler single(world);
  CoreScheduler many(world);
  const std::size_t per_queue = seed % 3 == 0 ? 2 : 1000;
  for (int event = 0; event < kEvents; ++event) {
    ++world.clock;
    for (CoreScheduler* core : {&single, &many}) core->SetClock(world.clock);
    const std::string before = Describe(single.world());
    const auto& all = single.world().workloads;
    seen->on_the_way +=
        std::any_of(all.begin(), all.end(), [](const Workload& of) { return of.evicting; });
    const Stretch expected = SingleHeads(&single);
    const CoreDecisions actual = many.ManyHeads(per_queue);
    ASSERT_EQ(TextOf(actual.moves), TextOf(expected.moves))
        << "seed " << seed << ", event " << event << "\n"
        << before;
    ASSERT_TRUE(actual.admitted == expected.admitted) << "seed " << seed << "\n" << before;
    for (const auto& move : actual.moves) {
      ++(move.preemptor < 0 ? seen->admissions : seen->evictions);
    }
    if (expected.turning || !Happens(&draw, &single, &many, &late)) return;
  }
}

TEST(HeadsAgreement, PlansOfManyHeadsDecideWhatSingleHeadCyclesDecide_InTheSameOrder) {
  Seen seen;
  for (int i = 0; i < kWorlds && !::testing::Test::HasFailure(); ++i) {
    Compare(static_cast<std::uint64_t>(i), &seen);
  }
  EXPECT_GT(seen.admissions, kWorlds) << "the worlds have become too easy";
  EXPECT_GT(seen.evictions, kWorlds / 4) << "the worlds have become too peaceful";
  EXPECT_GT(seen.on_the_way, kWorlds / 4) << "no decision meets victims on their way";
}

}  // namespace
}  // namespace muster::oracle
