// A thin owner of one libpq connection: the writer's hot path, where a transaction is one pipelined
// round trip.
//
// Not thread-safe: one connection, one thread. Nothing throws.
#pragma once

#include <libpq-fe.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/store/pg/pq_params.h"

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

class PqConnection {
 public:
  /// Connects; kUnavailable if the database cannot be reached or refuses.
  static Result<std::unique_ptr<PqConnection>> Open(const std::string& url);

  bool alive() const { return PQstatus(connection_.get()) == CONNECTION_OK; }

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

 private:
  using Handle = std::unique_ptr<PGconn, decltype(&PQfinish)>;
  explicit PqConnection(Handle connection) : connection_(std::move(connection)) {}
  Failure Lost() const;
  Failure FailureOfResult(const PGresult* result) const;
  void Sent(int ok, std::function<void(const PGresult&)> on_rows);

  using Handlers = std::vector<std::function<void(const PGresult&)>>;
  Handle connection_;
  std::deque<Handlers> open_;  // of the transactions not finished, the oldest first
  bool send_failed_ = false;
};

}  // namespace muster::pg
