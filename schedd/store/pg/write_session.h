// WriteSession: the leader's one session. It holds the leader's lock, so leading and being able to
// write end together; every transaction passes the epoch's fence and numbers itself, so that a lost
// answer to COMMIT can be asked for on the next connection.
//
// Not thread-safe: it belongs to the group committer's thread.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "schedd/store/pg/batch_encoding.h"
#include "schedd/store/pg/pq.h"
#include "schedd/store/store.h"

namespace muster::pg {

/// The smallest thing that succeeds or fails on its own: one new job, or one PlanCommit. Exactly
/// one of `job` and `commit` is set; so is, afterwards, the outcome that belongs to it.
struct WriteUnit {
  const NewJob* job = nullptr;
  const PlanCommit* commit = nullptr;
  std::optional<Result<Accepted>> accepted;
  std::optional<Result<CommitVersion>> committed;

  bool answered() const { return accepted.has_value() || committed.has_value(); }
  void Fail(const Error& error);
};

class WriteSession {
 public:
  /// `resolve_ms`: how long a lost answer is asked for before it is called unknown.
  WriteSession(std::string url, std::int64_t resolve_ms);

  /// See Store::Lead.
  Result<Lease> Lead(const std::string& holder, std::chrono::milliseconds wait);

  /// Writes all units in as few transactions as it can and answers each one. A group that fails by
  /// one of its units is halved until that unit stands alone.
  void Write(Epoch epoch, std::span<WriteUnit> units, std::stop_token stop);

 private:
  Failure Connect();
  Failure TakeLock(std::chrono::milliseconds wait);
  Failure TakeLead(const std::string& holder, std::chrono::milliseconds wait, PgResult* rows);
  void WriteGroup(std::span<WriteUnit> units, const std::stop_token& stop);
  Failure Transact(std::span<WriteUnit> units, AcceptFindings* findings);
  void Answer(std::span<WriteUnit> units, const AcceptFindings& findings);
  /// Sets every outcome after the connection was lost with the transaction under way.
  void Resolve(std::span<WriteUnit> units, const std::stop_token& stop);
  Failure AskOutcome(std::span<WriteUnit> units);

  const std::string url_;
  const std::int64_t resolve_ms_;
  std::unique_ptr<PqConnection> connection_;
  bool locked_ = false;
  Epoch epoch_;  // 0: not leading
  std::int64_t last_group_ = 0;
  std::int64_t last_seq_ = 0;  // highest event number committed here
};

}  // namespace muster::pg
