// World: one simulated installation: database, members, users, and the daemons that come and go.
// Everything is drawn from the seed, and nothing touches the operating system.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/clients.h"
#include "tests/sim/daemon.h"
#include "tests/sim/invariants.h"

namespace muster::sim {

/// How a world went.
struct Verdict {
  std::uint64_t seed = 0;
  std::string broken;  // "" or "I4: ...", in one line
  std::uint64_t hash = 0, lines = 0, checks = 0;
  std::int64_t makespan_ms = 0;  // from the first submission to the last end
  std::int64_t healing_ms = 0;   // from the end of all faults to the last end
  /// From the end of all faults until every attempt that had ended by then was recorded so.
  std::int64_t told_ms = 0;
  std::uint64_t open_ends = 0;  // the number of those attempts
  std::uint64_t evictions = 0;
  int daemons = 0;
};

class World {
 public:
  World(std::uint64_t seed, const SwarmOptions& options);
  ~World();

  /// The safety phase, the heal, and the liveness phase.
  Verdict Run();
  Stage& stage() { return stage_; }

 private:
  void Tick();
  void Safety();
  void Heal();
  void Liveness();
  void StartDaemon();
  void Kill(Daemon* daemon, const std::string& how);
  void PlanTrouble();
  void Trouble();
  void FreezeOne();
  void LookQuiet();
  bool AllEnded();
  std::set<DispatchKey> OpenEnds();
  void LookAtOpenEnds();
  void Show();
  Daemon* Current();

  Stage stage_;
  Database database_;
  Members members_;
  Clients clients_;
  Invariants invariants_;
  std::vector<std::unique_ptr<Daemon>> daemons_, dead_;
  WorldViewPtr seen_;
  Dice nemesis_;
  int started_ = 0;
  std::int64_t ready_since_ns_ = 0, began_ns_ = 0, healed_ns_ = 0, ended_ns_ = 0;
  std::set<DispatchKey> open_ends_;  // at the heal, and not recorded yet
  std::uint64_t open_at_heal_ = 0;
  std::int64_t told_ns_ = 0;
};

/// Runs the world of this seed. With faults, every tenth seed also runs without them for R33.
Verdict RunSeed(std::uint64_t seed, const SwarmOptions& options,
                std::function<void(std::int64_t, const std::string&)> sink = nullptr);

}  // namespace muster::sim
