// Observer: asks the database, over a connection of its own, what the writer waits for and what an
// acknowledged write survives, and tells StoreHealth. The writer itself cannot ask: it waits.
//
// Thread-safe. One thread, which asks once a second at most and waits for the database no longer
// than a read does.
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
  /// A read under way is ended by the watchdog.
  ~Observer();

 private:
  using Clock = StoreHealth::Clock;
  /// One look at the database.
  void Look();
  /// Asks whether a commit waits for a standby, if the writer has waited for a while.
  void LookForStandbyWait(Clock::time_point now);
  /// Asks what the database promises, if the writer has another session or some time has passed.
  void LookAtFacts(Clock::time_point now);

  ReadPool readers_;
  StoreHealth& health_;
  std::int64_t session_ = 0;        // the writer's session for which the facts were read last
  Clock::time_point next_facts_{};  // when they are read again
  std::jthread thread_;
};

}  // namespace muster::pg
