// Stage: what all parts of one simulated world share. One thread.
#pragma once

#include <functional>
#include <string>

#include "tests/sim/agenda.h"
#include "tests/sim/swarm.h"
#include "tests/sim/trouble.h"

namespace muster::sim {

struct Stage {
  Stage(std::uint64_t seed_in, const SwarmOptions& options_in)
      : seed(seed_in),
        options(options_in),
        delays(DiceOf(seed_in, "delays")),
        faults(DiceOf(seed_in, "faults")),
        deaths(DiceOf(seed_in, "deaths")) {}

  void Note(const std::string& line) { trace.Add(clock.Now().ns, line); }
  [[noreturn]] void Break(const std::string& what) {
    Note("VIOLATION " + what);
    throw Violation{what};
  }
  /// True in `percent` of a hundred calls while the fault is on and faults have not stopped.
  bool Happens(bool SwarmOptions::*fault, std::uint64_t percent) {
    return !healed && options.*fault && faults.Chance(percent);
  }
  /// A place where others see something of what a daemon does: it may die before or after it.
  void Effect(const std::string& where) {
    if (healed || !options.kills || !may_die || deaths.Below(400) != 0) return;
    Note("killed at " + where);
    throw Killed{where};
  }

  const std::uint64_t seed;
  const SwarmOptions options;
  SimClock clock;
  Agenda agenda{clock};
  Trace trace;
  Dice delays, faults, deaths;
  bool healed = false;   // faults have stopped
  bool may_die = false;  // the code of a daemon is running
};

}  // namespace muster::sim
