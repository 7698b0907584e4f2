#include "tests/sim/themes.h"

#include <algorithm>

namespace muster::sim {
namespace {

// R16: what members tell is lost, repeated, late and out of order, and some are away for a while;
// the daemon and its database are sound. Jobs end while that is so.
void OnlyTheWatch(SwarmOptions* options, Dice* dice) {
  *options = WithoutFaults(*options);
  options->lost_reports = true;
  options->double_reports = dice->Chance(70);
  options->slow_calls = dice->Chance(70);
  options->lost_calls = dice->Chance(40);
  options->away_members = dice->Chance(50);
  options->longest_run_ms = std::min<std::int64_t>(options->longest_run_ms, 15'000);
}

// R19: more is asked for than there is room, by priorities, with quotas that change under it and
// members that are drained, while the daemon is killed and its writes fail.
void AStorm(SwarmOptions* options, Dice* dice) {
  options->preemption = options->cohort = options->kills = true;
  options->quota_edits = options->requeues = options->gangs = true;
  options->drains = dice->Chance(50);
  options->store_faults = dice->Chance(70);
  options->lost_answers = dice->Chance(50);
  options->queues = 2 + static_cast<int>(dice->Below(2));
  options->quota = 3 + static_cast<std::int64_t>(dice->Below(3));
  options->jobs = 20 + static_cast<int>(dice->Below(12));
  options->arrivals_ms = 15'000;
}

constexpr Theme kThemes[] = {
    {"R16", "0 missed ends, all told within 2 resyncs", OnlyTheWatch},
    {"R19", "every usage row 0 at rest", AStorm},
};

}  // namespace

const Theme* ThemeOf(const std::string& id) {
  for (const Theme& theme : kThemes) {
    if (id == theme.id) return &theme;
  }
  return nullptr;
}

SwarmOptions ThemedSwarm(const Theme* theme, std::uint64_t seed) {
  SwarmOptions options = SwarmOf(seed);
  if (theme == nullptr) return options;
  Dice dice = DiceOf(seed, theme->id);
  theme->choose(&options, &dice);
  return options;
}

}  // namespace muster::sim
