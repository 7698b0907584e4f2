// A read passes through Enter (is the database known to be silent?), Take (a connection), the read
// itself under the watchdog, Return and Leave (did the database answer?). RunWith runs it a second
// time if the connection was lost, because a restart of the server breaks every idle connection
// without a sign; it does not if the database was silent, because a second wait would take as long
// as the first.
#include "schedd/store/pg/read_pool.h"

#include <algorithm>
#include <utility>

#include "schedd/store/pg/pq.h"
#include "schedd/store/pg/statements.h"
#include "schedd/store/pg/statements_read.h"
#include "schedd/telemetry/log.h"

namespace muster::pg {
namespace {

const Error kSilent = Unavailable("the database does not answer");
const Error kBusy = Unavailable("all readers of the database are busy");

}  // namespace

// libpqxx 6 marks inhibit_reactivation as deprecated, but offers nothing else.
std::unique_ptr<pqxx::connection> OpenConnection(const std::string& url, const char* settings,
                                                 Watchdog& watchdog,
                                                 std::chrono::milliseconds within) {
  auto connection = std::make_unique<pqxx::connection>(url);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  connection->inhibit_reactivation(true);
#pragma GCC diagnostic pop
  const Watchdog::Watch watch(watchdog, connection->sock(), within);
  const pqxx::row own = pqxx::nontransaction(*connection).exec1(sql::kOwnSession);
  if (own[0].size() == 0) throw pqxx::sql_error("", sql::kOwnSession, sql::kSharedSession);
  pqxx::nontransaction(*connection).exec(settings);
  try {
    pqxx::nontransaction(*connection).exec(sql::kSessionEnds);
  } catch (const pqxx::broken_connection&) {
    throw;
  } catch (const pqxx::sql_error&) {
    // What stands between the daemon and the server may refuse these settings.
  }
  return connection;
}

// Rethrows the exception in flight to find out its type. A conversion that fails means that a row
// is damaged.
Error ErrorOfException() {
  try {
    throw;
  } catch (const pqxx::broken_connection& error) {
    Log(LogLevel::kWarning, "store", "connection_failed",
        {{"err", std::string_view(error.what())}});
    return Unreachable();
  } catch (const pqxx::insufficient_privilege&) {
    return Error{Code::kFailedPrecondition,
                 "the database's role may not do this: name the owner of the schema"};
  } catch (const pqxx::sql_error& error) {
    return FailureOf(error.sqlstate(), error.what(), "").error;
  } catch (const pqxx::failure&) {
    return Unavailable("the connection to the database was lost");
  } catch (const std::exception& error) {
    return Internal(std::string("a stored row cannot be read: ") + error.what());
  }
}

ReadPool::ReadPool(std::string url, std::size_t connections, Watchdog& watchdog, ReadTimes times)
    : url_(std::move(url)), watchdog_(watchdog), times_(times), unopened_(connections) {}

ReadPool::~ReadPool() = default;

// While the database is silent, only one read at a time is let through after the rest, with a short
// deadline.
Status ReadPool::Enter(Pass* pass) {
  const MutexLock lock(mutex_);
  const Clock::time_point now = Clock::now();
  pass->until = now + times_.within;
  if (!silent_) return Done{};
  if (probed_ || now < rests_until_) return kSilent;
  probed_ = pass->probes = true;
  pass->until = now + times_.rest;
  return Done{};
}

// Any answer ends the silence, also one that refuses the read.
void ReadPool::Leave(const Pass& pass, const Status& outcome) {
  {
    const MutexLock lock(mutex_);
    if (pass.probes) probed_ = false;
    if (pass.late) {
      silent_ = true;
      rests_until_ = Clock::now() + times_.rest;
    } else if (outcome.ok() || outcome.error().code != Code::kUnavailable) {
      silent_ = false;  // it answered
    }
  }
  freed_.NotifyAll();
}

void ReadPool::Heard() {
  {
    const MutexLock lock(mutex_);
    silent_ = false;
  }
  freed_.NotifyAll();
}

// kStalledReaders readers may wait until their own deadline; the others are refused as soon as the
// pool is stalled. A connection is opened outside the lock.
Result<std::unique_ptr<pqxx::connection>> ReadPool::Take(Pass* pass) {
  {
    MutexLock lock(mutex_);
    if (Free()) {
      moved_ = Clock::now();
    } else {
      ++waiting_;
      bool refused = false;
      while (!Free() && !refused) {
        const Clock::time_point now = Clock::now();
        const Clock::time_point stalls = moved_ + times_.stalled;
        refused = watchdog_.stopped() || silent_ || now >= pass->until ||
                  (now >= stalls && waiting_ > limits::kStalledReaders);
        if (refused) break;
        freed_.WaitUntil(mutex_, now < stalls ? std::min(stalls, pass->until) : pass->until);
      }
      --waiting_;
      if (refused) return silent_ ? kSilent : kBusy;
    }
    if (!idle_.empty()) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
    if (watchdog_.stopped()) return Unavailable("the daemon is stopping");
    --unopened_;
  }
  const Clock::time_point begun = Clock::now();
  try {
    auto connection =
        OpenConnection(url_, sql::kReaderSettings, watchdog_,
                       std::chrono::ceil<std::chrono::milliseconds>(pass->until - begun));
    return connection;
  } catch (...) {
    Error error = ErrorOfException();
    // A host without a server refuses at once; a server that hangs takes the whole time.
    pass->late = Clock::now() - begun >= times_.stalled;
    Return(nullptr);
    return error;
  }
}

// A read that ends moves the pool, whether it succeeded or not.
void ReadPool::Return(std::unique_ptr<pqxx::connection> connection) {
  {
    MutexLock lock(mutex_);
    moved_ = Clock::now();
    if (connection == nullptr) {
      ++unopened_;
    } else {
      idle_.push_back(std::move(connection));
    }
  }
  freed_.NotifyOne();
}

// A long read has the watchdog's deadline for each part instead of one deadline for all.
Status ReadPool::RunOnce(const LongRead& read, bool is_long, Pass* pass) {
  auto taken = Take(pass);
  if (!taken.ok()) return taken.error();
  std::unique_ptr<pqxx::connection> connection = std::move(taken).value();
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(pass->until - Clock::now());
  const auto part = std::chrono::milliseconds(limits::kLoadPageWithinMs);
  std::optional<Watchdog::Watch> watch;
  watch.emplace(watchdog_, connection->sock(), is_long ? part : left);
  const auto part_begins = [&] { watch->Extend(part); };
  Status status = Done{};
  try {
    pqxx::transaction<pqxx::repeatable_read, pqxx::read_only> snapshot(*connection);
    status = read(snapshot, part_begins);
    snapshot.commit();
  } catch (...) {
    status = ErrorOfException();
    // libpqxx 6 reports a lost connection by several exceptions: the connection is kept only if it
    // is open and the error is another one.
    pass->broken = !connection->is_open() || status.error().code == Code::kUnavailable;
  }
  if (watch->cut()) {
    pass->late = pass->broken = true;
    status = kSilent;
  }
  watch.reset();
  Return(pass->broken ? nullptr : std::move(connection));
  return status;
}

Status ReadPool::RunWith(const LongRead& read, bool is_long) {
  Pass pass;
  Status status = Enter(&pass);
  if (!status.ok()) return status;
  status = RunOnce(read, is_long, &pass);
  if (pass.broken && !pass.late) {
    {
      // A restart of the server has broken the idle connections too.
      MutexLock lock(mutex_);
      unopened_ += idle_.size();
      idle_.clear();
    }
    pass.broken = false;
    status = RunOnce(read, is_long, &pass);
  }
  Leave(pass, status);
  return status;
}

Status ReadPool::Run(const Read& read) {
  return RunWith([&read](pqxx::transaction_base& snapshot,
                         const std::function<void()>&) { return read(snapshot); },
                 false);
}

Status ReadPool::RunLong(const LongRead& read) { return RunWith(read, true); }

}  // namespace muster::pg
