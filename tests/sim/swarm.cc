#include "tests/sim/swarm.h"

namespace muster::sim {
namespace {

// Every fault of SwarmOptions with its name.
struct NamedFault {
  const char* name;
  bool SwarmOptions::*on;
};
constexpr NamedFault kFaults[] = {
    {"kills", &SwarmOptions::kills},
    {"freezes", &SwarmOptions::freezes},
    {"clock-jumps", &SwarmOptions::clock_jumps},
    {"store-faults", &SwarmOptions::store_faults},
    {"store-away", &SwarmOptions::store_away},
    {"lost-answers", &SwarmOptions::lost_answers},
    {"slow-store", &SwarmOptions::slow_store},
    {"lost-calls", &SwarmOptions::lost_calls},
    {"slow-calls", &SwarmOptions::slow_calls},
    {"double-calls", &SwarmOptions::double_calls},
    {"lost-reports", &SwarmOptions::lost_reports},
    {"double-reports", &SwarmOptions::double_reports},
    {"away-members", &SwarmOptions::away_members},
    {"wiped-members", &SwarmOptions::wiped_members},
    {"disturbed-objects", &SwarmOptions::disturbed_objects},
};
constexpr NamedFault kWorkload[] = {
    {"two-steps", &SwarmOptions::two_steps},
    {"cohort", &SwarmOptions::cohort},
    {"strict-fifo", &SwarmOptions::strict_fifo},
    {"preemption", &SwarmOptions::preemption},
    {"gangs", &SwarmOptions::gangs},
    {"arrays", &SwarmOptions::arrays},
    {"dependencies", &SwarmOptions::dependencies},
    {"holds", &SwarmOptions::holds},
    {"cancels", &SwarmOptions::cancels},
    {"requeues", &SwarmOptions::requeues},
    {"deletes", &SwarmOptions::deletes},
    {"time-limits", &SwarmOptions::time_limits},
    {"quota-edits", &SwarmOptions::quota_edits},
    {"drains", &SwarmOptions::drains},
    {"lead-term", &SwarmOptions::lead_term},
};

}  // namespace

Dice DiceOf(std::uint64_t seed, const char* part) {
  std::uint64_t mixed = seed * 0x9e3779b97f4a7c15ULL + 0x2545f4914f6cdd1dULL;
  for (const char* c = part; *c != '\0'; ++c)
    mixed = (mixed ^ static_cast<unsigned char>(*c)) * 0x100000001b3ULL;
  Dice dice(mixed);
  dice.Next();
  return dice;
}

bool SwarmOptions::AnyFault() const {
  for (const NamedFault& fault : kFaults) {
    if (this->*fault.on) return true;
  }
  return false;
}

// A third of the worlds have most faults, the others few; one in sixteen has none.
SwarmOptions SwarmOf(std::uint64_t seed) {
  Dice dice = DiceOf(seed, "swarm");
  SwarmOptions options;
  for (const NamedFault& one : kWorkload) options.*one.on = dice.Chance(50);
  const std::uint64_t trouble = dice.Chance(30) ? 70 : dice.Chance(92) ? 25 : 0;
  for (const NamedFault& fault : kFaults) options.*fault.on = dice.Chance(trouble);
  options.members = static_cast<int>(1 + dice.Below(3));
  options.two_steps = dice.Chance(70);
  options.queues = static_cast<int>(1 + dice.Below(3));
  options.quota = static_cast<std::int64_t>(4 + dice.Below(5));
  options.room = options.quota + static_cast<std::int64_t>(dice.Below(3));
  options.jobs = static_cast<int>(6 + dice.Below(14));
  options.arrivals_ms = static_cast<std::int64_t>(5'000 + dice.Below(30'000));
  options.longest_run_ms = static_cast<std::int64_t>(2'000 + dice.Below(25'000));
  const char* const policies[] = {"wait", "wait", "fail", "afterTimeout:1m"};
  options.on_lost = policies[dice.Below(4)];
  options.heartbeat_ms = dice.Chance(50) ? 0 : static_cast<std::int64_t>(500 + dice.Below(3'000));
  options.lost_after_ms = static_cast<std::int64_t>(5'000 + dice.Below(15'000));
  options.orphan_grace_ms = static_cast<std::int64_t>(5'000 + dice.Below(20'000));
  options.reconcile_every_ms = static_cast<std::int64_t>(5'000 + dice.Below(30'000));
  options.commit_depth = 1 + dice.Below(6);
  options.cycle_heads = 1 + dice.Below(40);
  // What a member made in one step makes by itself cannot be told from what another daemon made:
  // such members are this host's processes, and no two daemons share them.
  if (!options.two_steps) {
    options.freezes = options.double_calls = options.disturbed_objects = false;
    options.wiped_members = false;
  }
  if (options.freezes) options.lead_term = true;
  Dice own = DiceOf(seed, "own queues");
  options.own_queues = options.two_steps && own.Chance(25);
  options.own_queues_at_once = static_cast<int>(own.Below(3));
  return options;
}

SwarmOptions WithoutFaults(SwarmOptions options) {
  for (const NamedFault& fault : kFaults) options.*fault.on = false;
  return options;
}

std::string ToText(const SwarmOptions& options) {
  std::string text = std::to_string(options.members) + " members, " +
                     std::to_string(options.queues) + " queues of " +
                     std::to_string(options.quota) + " CPUs, " + std::to_string(options.jobs) +
                     " jobs, on-cluster-lost " + options.on_lost;
  if (options.own_queues) text += " own-queues";
  for (const NamedFault& one : kWorkload) {
    if (options.*one.on) text += std::string(" ") + one.name;
  }
  for (const NamedFault& fault : kFaults) {
    if (options.*fault.on) text += std::string(" +") + fault.name;
  }
  return text;
}

}  // namespace muster::sim
