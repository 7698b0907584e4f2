// A thin owner of one libpq connection: the writer's hot path, where a transaction is one pipelined
// round trip.
//
// Every wait for an answer has an end (watchdog.h): a server that does not answer in time is a lost
// connection. So is one that warns: a commit whose wait for a synchronous standby was cancelled is
// a success with a warning, and may be lost.
//
// Not thread-safe: one connection, one thread. Nothing throws.
#pragma once

#include <libpq-fe.h>

#include <chrono>
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
  kItem,         // the statement's own fault: a constraint, a malformed value
  kFenced,       // the epoch does not lead
  kEnvironment,  // the database refuses for now: disk full, read-only, shutting down; nothing was
                 // written
  kConnection,   // the connection is gone; the outcome of a COMMIT in flight is not known
};

struct Failure {
  FailureKind kind = FailureKind::kNone;
  Error error;
};

/// Sorts an SQLSTATE and renders one sentence without SQL in it. `constraint` may be empty.
Failure FailureOf(const std::string& sqlstate, const std::string& message,
                  const std::string& constraint);

/// True for a notice that puts in doubt what it comes with: a warning, by its severity (in no
/// language) or by its SQLSTATE.
bool IsWarning(const char* severity, const char* sqlstate);

class PqConnection {
 public:
  /// Connects; kUnavailable if the database cannot be reached or refuses. How long that may take is
  /// the URL's to say. `watchdog` must outlive the connection.
  static Result<std::unique_ptr<PqConnection>> Open(const std::string& url, Watchdog& watchdog);

  /// False once the connection is lost, or was given up: because no answer came in time, or because
  /// the server warned. What is under way then has no known outcome.
  bool alive() const { return !given_up_ && PQstatus(connection_.get()) == CONNECTION_OK; }
  /// How long a statement or a transaction may take; kAnswerWithinMs unless told.
  void SetAnswerWithin(std::chrono::milliseconds within) { answer_within_ = within; }

  /// One or more commands without parameters or results of interest.
  Failure Execute(const char* sql);
  /// Prepares a named statement.
  Failure Prepare(const char* name, const char* sql);
  /// One command with its rows in text; `rows` may be null.
  Failure Query(const char* sql, const Params& params, PgResult* rows);

  /// Starts a pipelined transaction: what is queued is sent without waiting. It needs no BEGIN and
  /// no COMMIT: everything up to the pipeline's sync point is one transaction (PostgreSQL
  /// documentation, "Pipeline Mode"), which saves the server two statements a group. Until every
  /// transaction is finished, only these five may be called.
  void Begin();
  /// Queues a prepared statement; `on_rows` gets its rows when the transaction finishes.
  void Queue(const char* prepared, const Params& params,
             std::function<void(const PGresult&)> on_rows = {});
  /// Queues a statement that is not prepared (rare ones).
  void QueueSql(const std::string& sql, const Params& params);
  /// Ends the transaction begun last. The next one may begin before this one is finished.
  void Send();
  /// Waits for every answer of the oldest transaction and calls its handlers in order. After a
  /// failure nothing is written, except that kConnection leaves the outcome open.
  Failure Finish();

  /// Readable when the server has said something.
  int socket() const { return PQsocket(connection_.get()); }
  /// True if Finish would not wait for the server's first answer (also when the connection is
  /// lost).
  bool Answered();
  /// Takes what the server said while nothing was asked of it; false if the connection is lost.
  bool Listen();

 private:
  using Handle = std::unique_ptr<PGconn, decltype(&PQfinish)>;
  PqConnection(Handle connection, Watchdog& watchdog)
      : watchdog_(watchdog), connection_(std::move(connection)) {}
  /// Takes every notice of the server.
  static void OnNotice(void* self, const PGresult* notice);
  Failure Lost() const;
  Failure FailureOfResult(const PGresult* result) const;
  /// The same, or Lost when a warning came with the result.
  Failure Judge(const PGresult* result);
  void Sent(int ok, std::function<void(const PGresult&)> on_rows);
  Failure FinishOldest();

  using Handlers = std::vector<std::function<void(const PGresult&)>>;
  Watchdog& watchdog_;
  Handle connection_;
  std::chrono::milliseconds answer_within_{limits::kAnswerWithinMs};
  std::deque<Handlers> open_;  // of the transactions not finished, the oldest first
  std::optional<Watchdog::Watch> watch_;  // while there are such
  bool send_failed_ = false;
  bool given_up_ = false;
};

}  // namespace muster::pg
