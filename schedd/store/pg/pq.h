// PqConnection: a thin owner of one libpq connection, for the writer's hot path, where a
// transaction is one pipelined round trip.
//
// Every wait for an answer has a deadline (watchdog.h): a server that does not answer in time
// counts as a lost connection. So does a server that warns: a commit whose wait for a synchronous
// standby was cancelled answers success with a WARNING, and is lost if the standby takes over.
//
// Not thread-safe: one connection, one thread. Nothing throws.
#pragma once

#include <libpq-fe.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schedd/base/limits.h"
#include "schedd/base/result.h"
#include "schedd/store/pg/pq_params.h"
#include "schedd/store/pg/watchdog.h"

namespace muster::pg {

using PgResult = std::unique_ptr<PGresult, decltype(&PQclear)>;

/// What a failure means to the caller of a write.
enum class FailureKind {
  kNone,
  /// The statement's own fault: a constraint, a malformed value.
  kItem,
  /// The epoch does not lead.
  kFenced,
  /// The rows of the audit trail do not continue the trail that the database has: an earlier group
  /// that was under way is not written. Nothing was written; it can be written again.
  kChain,
  /// The database refuses for now (disk full, read-only, shutting down); nothing was written.
  kEnvironment,
  /// The connection is gone; the outcome of a COMMIT in flight is not known.
  kConnection,
};

struct Failure {
  FailureKind kind = FailureKind::kNone;
  Error error;
};

/// Classifies an SQLSTATE and writes one sentence without SQL in it. `constraint` may be empty.
Failure FailureOf(const std::string& sqlstate, const std::string& message,
                  const std::string& constraint);

/// True for a notice that puts the result it comes with in doubt: a warning, by its severity (the
/// untranslated one) or by its SQLSTATE (class 01).
bool IsWarning(const char* severity, const char* sqlstate);
/// That no connection could be made; the caller has logged why.
Error Unreachable();

/// An integer of a result in PostgreSQL's text format; 0 for NULL.
inline std::int64_t IntAt(const PGresult& rows, int row, int column) {
  const char* text = PQgetvalue(&rows, row, column);
  std::int64_t value = 0;
  std::from_chars(text, text + std::strlen(text), value);
  return value;
}

class PqConnection {
 public:
  /// Connects; kUnavailable if the database cannot be reached or refuses. The URL bounds how long
  /// that may take (url.h). `watchdog` must outlive the connection.
  static Result<std::unique_ptr<PqConnection>> Open(const std::string& url, Watchdog& watchdog);

  /// False once the connection is lost or was given up, because no answer came in time or because
  /// the server warned. The outcome of a transaction under way is then unknown.
  bool alive() const { return !given_up_ && PQstatus(connection_.get()) == CONNECTION_OK; }
  /// How long a statement or a transaction may take; kAnswerWithinMs if it is not set.
  void SetAnswerWithin(std::chrono::milliseconds within) { answer_within_ = within; }

  /// Called first: fails with kEnvironment if a pooler before the database lets this connection
  /// share its session with others (sql::kOwnSession).
  Failure OwnSession();
  /// Runs one or more commands without parameters whose rows are not wanted.
  Failure Execute(const char* sql);
  /// Prepares a named statement.
  Failure Prepare(const char* name, const char* sql);
  /// Runs one command and returns its rows as text; `rows` may be null.
  Failure Query(const char* sql, const Params& params, PgResult* rows);

  /// Starts a pipelined transaction: statements are queued and sent without waiting. It needs no
  /// BEGIN and no COMMIT, because everything up to the pipeline's sync point is one transaction
  /// (PostgreSQL documentation, "Pipeline Mode"); that saves the server two statements a group.
  /// Until every transaction is finished, only the calls from Begin to Finish are allowed.
  void Begin();
  /// Queues a prepared statement; `on_rows` gets its rows when the transaction finishes.
  void Queue(const char* prepared, const Params& params,
             std::function<void(const PGresult&)> on_rows = {});
  /// Queues a statement that is not prepared, for rare ones.
  void QueueSql(const std::string& sql, const Params& params);
  /// Ends the transaction that was begun last. The next one may begin before this one is finished.
  void Send();
  /// Waits for all answers of the oldest transaction and calls its handlers in order. After a
  /// failure nothing is written, except after kConnection, which leaves the outcome open.
  Failure Finish();

  /// Becomes readable when the server has sent something.
  int socket() const { return PQsocket(connection_.get()); }
  /// True if Finish would not wait for the server's first answer (also when the connection is
  /// lost).
  bool Answered();
  /// Reads what the server sent while no statement was under way; false if the connection is lost.
  bool Listen();

 private:
  using Handle = std::unique_ptr<PGconn, decltype(&PQfinish)>;
  PqConnection(Handle connection, Watchdog& watchdog)
      : watchdog_(watchdog), connection_(std::move(connection)) {}
  /// libpq calls it for every notice of the server. A warning gives the connection up.
  static void OnNotice(void* self, const PGresult* notice);
  /// The failure of a connection that is gone.
  Failure Lost() const;
  Failure FailureOfResult(const PGresult* result) const;
  /// FailureOfResult, or Lost if a warning came with the result.
  Failure Judge(const PGresult* result);
  /// Records one queued statement; `ok` is libpq's result of queueing it.
  void Sent(int ok, std::function<void(const PGresult&)> on_rows);
  Failure FinishOldest();

  using Handlers = std::vector<std::function<void(const PGresult&)>>;
  Watchdog& watchdog_;
  Handle connection_;
  std::chrono::milliseconds answer_within_{limits::kAnswerWithinMs};
  std::deque<Handlers> open_;             // of the unfinished transactions, the oldest first
  std::optional<Watchdog::Watch> watch_;  // set while a transaction is unfinished
  bool send_failed_ = false;
  bool given_up_ = false;
};

}  // namespace muster::pg
