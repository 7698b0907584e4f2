// Daemon: one life of the daemon: the real engine, dispatcher and nominator, driven by the world's
// agenda instead of by threads. One thread.
#pragma once

#include <memory>
#include <string>

#include "schedd/dispatch/dispatcher.h"
#include "schedd/engine/engine.h"
#include "schedd/nomination/nominator.h"
#include "tests/sim/database.h"
#include "tests/sim/network.h"
#include "tests/support/fake_clock.h"

namespace muster::sim {

class Daemon {
 public:
  Daemon(Stage& stage, Database& database, Members& members, int number);
  ~Daemon();

  int number() const { return number_; }
  Engine& engine() { return *engine_; }
  Network& network() { return network_; }
  WorldViewPtr View() const { return engine_->View(); }
  bool frozen() const { return frozen_; }
  /// SIGSTOP and SIGCONT: nothing of it runs meanwhile, and what is sent to it waits.
  void SetFrozen(bool frozen);

  /// Schedules what it has to do, after anything that may have given it something. `kill` is called
  /// with this daemon when it dies at an effect.
  void Wake();
  std::function<void(Daemon*, const Killed&)> on_killed;
  std::function<void(Daemon*)> on_stepped;
  /// True if it has nothing to do now, and the database owes it nothing.
  bool Quiet();

 private:
  /// Between engine and dispatcher, so that the daemon can die between two orders.
  class Orders;
  template <class Work>
  void Run(const Work& work);
  void StepEngine();
  void TurnDispatcher();
  void Schedule(std::int64_t* planned, std::int64_t at_ns, void (Daemon::*work)());

  Stage& stage_;
  const int number_;
  bool frozen_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Dice random_;
  test::ManualTimers timers_;
  Metrics metrics_;
  Session session_;
  Network network_;
  std::shared_ptr<LeadTerm> lead_;
  dispatch::Dispatcher dispatcher_;
  std::unique_ptr<Orders> orders_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<nomination::Nominator> nominator_;  // where members run queues of their own
  bool stepped_ = true;  // the last step found something to do
  // When the next step, turn, timer or look is planned; 0: not.
  std::int64_t step_at_ = 0, turn_at_ = 0, fire_at_ = 0, look_at_ = 0;
  void FireTimers();
  void LookAtQueues();
};

}  // namespace muster::sim
