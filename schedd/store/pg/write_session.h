// WriteSession: the leader's one session. It holds the leader's lock, so leading and being able to
// write end together; every transaction passes the epoch's fence and numbers itself, so that a lost
// answer to COMMIT can be asked for on the next connection.
//
// Groups of new jobs may follow one another without waiting for the answer of the one before
// (StartJobs, FinishOldest), so that the server has its next group when it ends one. Whatever else
// is written waits until nothing is under way: only of new jobs it can be asked afterwards, one by
// one, whether they are there.
//
// No wait here is without an end: see watchdog.h. StoreHealth, if there is one, is told what is
// waited for, and when the session is gone.
//
// Not thread-safe: it belongs to the group committer's thread.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "schedd/store/health.h"
#include "schedd/store/pg/batch_encoding.h"
#include "schedd/store/pg/pq.h"
#include "schedd/store/pg/watchdog.h"
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
  /// `resolve_ms`: how long after a group was sent its outcome is asked for before it is called
  /// unknown. `watchdog` and `health` (may be null) must outlive the session.
  WriteSession(std::string url, std::int64_t resolve_ms, Watchdog& watchdog, StoreHealth* health);

  /// See Store::Lead.
  Result<Lease> Lead(const std::string& holder, std::chrono::milliseconds wait);

  /// Writes all units in as few transactions as it can and answers each one. A group that fails by
  /// one of its units is halved until that unit stands alone. Nothing may be under way.
  void Write(Epoch epoch, std::span<WriteUnit> units, std::stop_token stop);

  /// Sends new jobs as one group and does not wait. `units` must live until FinishOldest has
  /// answered them. False: nothing was sent, Write will find out why not.
  bool StartJobs(Epoch epoch, std::span<WriteUnit> units);
  /// Waits for the oldest group under way and answers its units as Write would; when it has failed,
  /// those of all groups under way.
  void FinishOldest(const std::stop_token& stop);
  std::size_t under_way() const { return sent_.size(); }
  /// The oldest group has its answer, or the connection is lost; for while something is under way.
  bool Answered() { return connection_ == nullptr || connection_->Answered(); }
  /// Readable when that may have changed; -1: no connection.
  int socket() const { return connection_ == nullptr ? -1 : connection_->socket(); }
  /// Nothing is under way and the socket is readable: notices a session that has ended.
  void Listen();

 private:
  /// A transaction that was sent.
  struct Group {
    std::span<WriteUnit> units;
    std::int64_t number = 0;
    StoreHealth::Clock::time_point sent;
    AcceptFindings findings;
    Failure outcome;  // kNone: committed
  };
  /// What the database knows of an epoch of ours that has ended.
  struct EndOfEpoch {
    bool known = false;
    std::int64_t last_group = 0;  // the last that was committed in it
  };
  Failure Connect();
  void Drop(std::string why);
  void NoteWaiting();
  Failure TakeLock(std::chrono::milliseconds wait);
  Failure TakeLead(const std::string& holder, std::chrono::milliseconds wait, PgResult* rows);
  void WriteGroup(std::span<WriteUnit> units, const std::stop_token& stop);
  void Start(std::span<WriteUnit> units);
  /// Answers the units of a group whose outcome is known; halves one that failed by a unit.
  void Settle(const Group& group, const std::stop_token& stop);
  void Answer(std::span<WriteUnit> units, const AcceptFindings& findings);
  /// Answers the units of groups that were under way when the connection was lost.
  void Resolve(std::span<Group> groups, const std::stop_token& stop);
  Failure AskOutcome(std::span<Group> groups);
  Failure AskEnd(EndOfEpoch* end);
  /// Answers each unit of a group by what was found of it.
  void Judge(const Group& group, const EndOfEpoch& end);

  const std::string url_;
  const std::int64_t resolve_ms_;
  Watchdog& watchdog_;
  StoreHealth* const health_;
  std::unique_ptr<PqConnection> connection_;
  /// While there is no connection: why the last try failed, and until when there is no other.
  Failure away_;
  StoreHealth::Clock::time_point away_until_{};
  bool locked_ = false;
  Epoch epoch_;  // 0: not leading
  std::int64_t first_group_ = 0;  // what this lead's group numbers count from, drawn for it alone
  std::int64_t last_group_ = 0;
  std::deque<Group> sent_;     // the oldest first
  std::int64_t last_seq_ = 0;  // highest event number committed here
};

}  // namespace muster::pg
