// Themes: swarms of worlds that all have the same kind of trouble, for the figures of the
// scoreboard that ask for one kind.
#pragma once

#include <cstdint>
#include <string>

#include "tests/sim/swarm.h"

namespace muster::sim {

/// What the worlds of a theme have in common.
struct Theme {
  const char* id;   // of the scoreboard: "R16"
  const char* bar;  // the figure's last words
  /// Changes the options of a seed's world; the dice are the theme's own.
  void (*choose)(SwarmOptions* options, Dice* dice);
};

/// The theme of this id; null: there is none.
const Theme* ThemeOf(const std::string& id);
/// The world of a seed within a theme; without one SwarmOf.
SwarmOptions ThemedSwarm(const Theme* theme, std::uint64_t seed);

}  // namespace muster::sim
