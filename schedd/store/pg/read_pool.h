// ReadPool: a few libpqxx connections for reads, apart from the writer's session.
//
// Thread-safe. A reader waits while all connections are in use, but only in a pool that moves: when
// no read has ended for a moment, all but a few waiting readers are refused, so that a database
// that hangs never keeps all threads of a server. Every read has a deadline. After one that passed,
// reads fail at once for a while; then one at a time tries.
//
// libpqxx would reconnect behind our back (and lose session state): that is inhibited, a broken
// connection is dropped and the read tried once more on a fresh one. Exceptions of libpqxx end
// here.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <pqxx/pqxx>

#include "schedd/base/limits.h"
#include "schedd/base/result.h"
#include "schedd/store/pg/watchdog.h"

namespace muster::pg {

/// Opens a connection that stays what it is: once broken, it never comes back by itself. Throws.
/// `settings` get their answer within `within`, or the connection is lost.
std::unique_ptr<pqxx::connection> OpenConnection(const std::string& url, const char* settings,
                                                 Watchdog& watchdog,
                                                 std::chrono::milliseconds within);

/// The Error of the exception in flight; call inside a catch block only.
Error ErrorOfException();

/// The deadlines of a pool; see limits.h.
struct ReadTimes {
  std::chrono::milliseconds within{limits::kReadWithinMs};     // one read
  std::chrono::milliseconds stalled{limits::kReadersStalledMs};
  std::chrono::milliseconds rest{limits::kReadersRestMs};
};

class ReadPool {
 public:
  using Read = std::function<Status(pqxx::transaction_base&)>;
  /// A read of many parts: each `part_begins()` gives it kLoadPageWithinMs more.
  using LongRead =
      std::function<Status(pqxx::transaction_base&, const std::function<void()>& part_begins)>;

  /// `watchdog` must outlive the pool.
  ReadPool(std::string url, std::size_t connections, Watchdog& watchdog, ReadTimes times = {});
  ~ReadPool();

  /// Runs `read` in one read-only snapshot of the database. `read` may throw; it runs again after a
  /// lost connection. kUnavailable, with a retry time, also when the database does not answer in
  /// time or too many readers wait.
  Status Run(const Read& read);
  Status RunLong(const LongRead& read);

 private:
  using Clock = std::chrono::steady_clock;
  /// One read on its way through the pool.
  struct Pass {
    Clock::time_point until;
    bool broken = false;  // its connection was lost
    bool late = false;    // the database did not answer in time
    bool probes = false;  // it tries whether the database answers again
  };
  Status Enter(Pass* pass);
  void Leave(const Pass& pass, const Status& outcome);
  Result<std::unique_ptr<pqxx::connection>> Take(Pass* pass);
  void Return(std::unique_ptr<pqxx::connection> connection);
  Status RunOnce(const LongRead& read, bool is_long, Pass* pass);
  Status RunWith(const LongRead& read, bool is_long);
  bool Free() const { return !idle_.empty() || unopened_ > 0; }

  const std::string url_;
  Watchdog& watchdog_;
  const ReadTimes times_;
  std::mutex mutex_;  // guards all below
  std::condition_variable freed_;
  std::vector<std::unique_ptr<pqxx::connection>> idle_;
  std::size_t unopened_;
  std::size_t waiting_ = 0;
  Clock::time_point moved_{};       // when a read ended, or began at once
  Clock::time_point rests_until_{};  // after a read that got no answer
  bool silent_ = false;             // the last one got none
  bool probed_ = false;             // one read tries
};

}  // namespace muster::pg
