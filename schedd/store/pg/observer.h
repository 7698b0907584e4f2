// Observer: asks the database, over connections of its own, what the writer waits for, what an
// acknowledged write survives and whether refused jobs would be taken by now, and tells
// StoreHealth. The writer itself cannot ask: it waits, or nobody sends it a job because /readyz
// says 503.
//
// Thread-safe. One thread, which asks once a second at most and waits for the database no longer
// than a read or a write does.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include "schedd/store/health.h"
#include "schedd/store/pg/read_pool.h"

namespace muster::pg {

class Observer {
 public:
  /// `url` is a complete one (url.h). `watchdog` and `health` must outlive the observer.
  Observer(const std::string& url, Watchdog& watchdog, StoreHealth& health);
  /// A question under way is ended by the watchdog.
  ~Observer();

 private:
  using Clock = StoreHealth::Clock;
  /// One look at the database.
  void Look();
  /// Asks whether a commit waits for a standby, if the writer has waited for a while.
  void LookForStandbyWait(Clock::time_point now);
  /// Asks what the database promises, if the writer has another session or some time has passed.
  void LookAtFacts(Clock::time_point now);
  /// Tries a job that the database has refused.
  void TryRefused(Clock::time_point now);

  const std::string url_;
  Watchdog& watchdog_;
  ReadPool readers_;
  StoreHealth& health_;
  std::int64_t session_ = 0;        // the writer's session for which the facts were read last
  Clock::time_point next_facts_{};  // when they are read again
  Clock::time_point next_trial_{};  // when a refused job is tried again
  std::jthread thread_;
};

}  // namespace muster::pg
