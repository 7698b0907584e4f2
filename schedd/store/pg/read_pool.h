// ReadPool: a few libpqxx connections for reads, beside the writer's session.
//
// Thread-safe. A reader waits for a free connection only while the pool moves: if no read has ended
// for a moment, all but a few waiting readers are refused, so that a database that hangs cannot
// hold all threads of a server. Every read has a deadline. After a read that got no answer in time,
// reads fail at once for a while; then one read at a time tries whether the database answers again.
//
// libpqxx would reconnect by itself and lose the session's settings, so reconnecting is inhibited:
// a broken connection is dropped and the read is tried once more on a fresh one. Exceptions of
// libpqxx end in this class.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <pqxx/pqxx>

#include "schedd/base/limits.h"
#include "schedd/base/mutex.h"
#include "schedd/base/result.h"
#include "schedd/store/pg/watchdog.h"

namespace muster::pg {

/// Opens a connection that never reconnects by itself, and applies `settings` within `within`, and
/// the settings by which the server ends a session whose daemon has vanished. `url` is a complete
/// one (url.h). Throws.
std::unique_ptr<pqxx::connection> OpenConnection(const std::string& url, const char* settings,
                                                 Watchdog& watchdog,
                                                 std::chrono::milliseconds within);

/// The Error for the exception in flight; to be called inside a catch block only.
Error ErrorOfException();

/// The deadlines of a pool; limits.h gives the reasons.
struct ReadTimes {
  /// One read, the wait for a connection included.
  std::chrono::milliseconds within{limits::kReadWithinMs};
  /// If no read has ended for so long, the pool counts as stalled.
  std::chrono::milliseconds stalled{limits::kReadersStalledMs};
  /// How long reads fail at once after one that got no answer.
  std::chrono::milliseconds rest{limits::kReadersRestMs};
};

class ReadPool {
 public:
  using Read = std::function<Status(pqxx::transaction_base&)>;
  /// A read of many parts; each call of part_begins() gives it kLoadPageWithinMs more.
  using LongRead =
      std::function<Status(pqxx::transaction_base&, const std::function<void()>& part_begins)>;

  /// `watchdog` must outlive the pool.
  ReadPool(std::string url, std::size_t connections, Watchdog& watchdog, ReadTimes times = {});
  ~ReadPool();

  /// Runs `read` in one read-only snapshot of the database. `read` may throw; after a lost
  /// connection it runs a second time. kUnavailable, with a retry time, also if the database does
  /// not answer in time or too many readers wait.
  Status Run(const Read& read);
  Status RunLong(const LongRead& read);
  /// The database has answered somebody else: reads need not wait any more until a probe of their
  /// own finds that out.
  void Heard();

 private:
  using Clock = std::chrono::steady_clock;
  /// One read on its way through the pool.
  struct Pass {
    Clock::time_point until;
    bool broken = false;  // its connection was lost
    bool late = false;    // the database did not answer in time
    bool probes = false;  // it tries whether the database answers again
  };
  /// Refuses the read while the database is known to be silent; sets its deadline.
  Status Enter(Pass* pass);
  /// Records whether the database answered.
  void Leave(const Pass& pass, const Status& outcome);
  /// Waits for a connection, or opens one.
  Result<std::unique_ptr<pqxx::connection>> Take(Pass* pass);
  /// Gives a connection back; null: it is broken, and another one may be opened.
  void Return(std::unique_ptr<pqxx::connection> connection);
  Status RunOnce(const LongRead& read, bool is_long, Pass* pass);
  Status RunWith(const LongRead& read, bool is_long);
  bool Free() const MUSTER_REQUIRES(mutex_) { return !idle_.empty() || unopened_ > 0; }

  const std::string url_;
  Watchdog& watchdog_;
  const ReadTimes times_;
  Mutex mutex_;
  CondVar freed_;
  std::vector<std::unique_ptr<pqxx::connection>> idle_ MUSTER_GUARDED_BY(mutex_);
  std::size_t unopened_ MUSTER_GUARDED_BY(mutex_);     // how many more connections may be opened
  std::size_t waiting_ MUSTER_GUARDED_BY(mutex_) = 0;  // readers that wait for a connection
  // When a read last ended, or began without waiting.
  Clock::time_point moved_ MUSTER_GUARDED_BY(mutex_){};
  Clock::time_point rests_until_ MUSTER_GUARDED_BY(mutex_){};  // until then reads fail at once
  bool silent_ MUSTER_GUARDED_BY(mutex_) = false;  // the last read got no answer in time
  // One read tries whether the database answers again.
  bool probed_ MUSTER_GUARDED_BY(mutex_) = false;
};

}  // namespace muster::pg
