// WriteSession: the leader's one database session. It takes, renews and releases the lease
// (schedd/base/lease.h). A lost session also ends the lead, and every write fails with kAborted
// until Lead is called again. Every transaction passes the epoch's fence, which renews the lease,
// and records the number of its group, so that the next connection can find out what became of a
// COMMIT whose answer was lost.
//
// Groups of new jobs may follow one another without waiting for the answer of the group before
// (StartJobs, FinishOldest). Any other write waits until nothing is under way: after a lost answer,
// only new jobs can be looked up one by one.
//
// Every wait has a deadline (watchdog.h). StoreHealth, if there is one, learns what the session
// waits for and when the session is gone.
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

#include "schedd/base/lease.h"
#include "schedd/store/health.h"
#include "schedd/store/pg/batch_encoding.h"
#include "schedd/store/pg/dialer.h"
#include "schedd/store/pg/pq.h"
#include "schedd/store/pg/watchdog.h"
#include "schedd/store/pg/write_unit.h"
#include "schedd/store/store.h"

namespace muster::pg {

class WriteSession {
 public:
  /// `resolve_ms`: how long after a group was sent its outcome is looked for before the answer is
  /// kUnknown. `watchdog`, `health` and `board` must outlive the session; the last two may be null.
  /// Without a board no other daemon is reckoned with: Lead always takes the lead.
  WriteSession(std::string url, std::int64_t resolve_ms, Watchdog& watchdog, StoreHealth* health,
               LeaseBoard* board);

  /// See Store::Lead. `wait`: for a transaction of the former leader that is just being ended.
  Result<Lease> Lead(const std::string& holder, std::chrono::milliseconds wait);
  /// When KeepLease is to be called, if nothing is written before; unset: it need not be.
  std::optional<StoreHealth::Clock::time_point> KeepLeaseAt() const;
  /// Renews the lease of a leader that has not written since Lead, because it reads the database.
  void KeepLease();
  /// Gives the lease up, if this session leads and the database answers at once. Nothing may be
  /// under way, and nothing may be written afterwards.
  void ReleaseLease();

  /// Writes all units in as few transactions as possible and answers each one. A group that fails
  /// because of one unit is halved until that unit stands alone. Nothing may be under way.
  void Write(Epoch epoch, std::span<WriteUnit> units, std::stop_token stop);

  /// Sends new jobs and their audit rows as one group and does not wait. `units` must live until
  /// FinishOldest has answered them. False: nothing was sent; Write on the same units answers them
  /// with the reason.
  bool StartJobs(Epoch epoch, std::span<WriteUnit> units);
  /// Waits for the oldest group under way and answers its units as Write would. If that group has
  /// failed, answers the units of all groups under way.
  void FinishOldest(const std::stop_token& stop);
  std::size_t under_way() const { return sent_.size(); }
  /// True if the oldest group has its answer or the connection is lost. Call it only while a group
  /// is under way.
  bool Answered() { return connection_ == nullptr || connection_->Answered(); }
  /// Becomes readable when Answered may have changed; -1 without a connection.
  int socket() const { return connection_ == nullptr ? -1 : connection_->socket(); }
  /// To be called when nothing is under way and the socket is readable: notices a session that has
  /// ended.
  void Listen();

 private:
  /// A transaction that was sent and is not finished.
  struct Group {
    std::span<WriteUnit> units;
    std::int64_t number = 0;
    StoreHealth::Clock::time_point sent;
    AcceptFindings findings;
    Failure outcome;  // kNone: committed
  };
  /// What the database says about an epoch of this daemon that has ended.
  struct EndOfEpoch {
    bool known = false;
    std::int64_t last_group = 0;  // number of the last group that was committed in the epoch
  };
  /// Opens and prepares the session unless it is open.
  Failure Connect();
  /// Gives the session up, and with it the lead.
  void Drop(std::string why);
  /// Ends the epoch for this session.
  void EndEpoch();
  /// Tells StoreHealth since when the oldest group waits.
  void NoteWaiting();
  /// Reads the lease.
  Failure ReadLease(LeaseRow* row);
  /// Why this daemon may not take the lease now; no failure: it may.
  Failure MayTake(const LeaseRow& row);
  Failure Resign();
  /// Connects, judges the lease, ends the session of the former leader and starts a new epoch.
  Failure TakeLead(const std::string& holder, std::chrono::milliseconds wait);
  /// The update that takes the lease `before`.
  Failure TakeLease(const LeaseRow& before, const std::string& holder,
                    std::chrono::milliseconds wait);
  void WriteGroup(std::span<WriteUnit> units, const std::stop_token& stop);
  /// Writes the units from `begin` on that have no answer.
  void WriteRest(std::span<WriteUnit> units, std::size_t begin, const std::stop_token& stop);
  /// Answers all units with the failure; a commit among them ends the epoch.
  void FailUnits(std::span<WriteUnit> units, const Failure& failure);
  /// Reads where the audit trail ends, unless that is known.
  Failure ReadAuditHead();
  /// Sends one group. The end of the audit trail must be known.
  void Start(std::span<WriteUnit> units);
  /// Answers the units of a group whose outcome is known; halves a group that failed by one unit.
  void Settle(const Group& group, const std::stop_token& stop);
  /// Answers the units of a committed group.
  void Answer(std::span<WriteUnit> units, const AcceptFindings& findings);
  /// Finds the outcome of the groups that were under way when the connection was lost, and answers
  /// their units.
  void Resolve(std::span<Group> groups, const std::stop_token& stop);
  /// Asks once, on an open connection, what became of the groups, and answers their units.
  Failure AskOutcome(std::span<Group> groups);
  /// Ends this daemon's epoch, or waits for the leader that has ended it, and reads how it ended.
  Failure AskEnd(EndOfEpoch* end);
  /// Answers each unit of a group by what the database knows about it.
  void Judge(const Group& group, const EndOfEpoch& end);

  const std::string url_;
  const std::int64_t resolve_ms_;
  Watchdog& watchdog_;
  StoreHealth* const health_;
  LeaseBoard* const board_;
  std::unique_ptr<PqConnection> connection_;
  /// While there is no connection: why the last try failed, and until when no other try is made.
  Failure away_;
  StoreHealth::Clock::time_point away_until_{};
  /// The last try to lead reached the database, and another daemon may lead.
  bool kept_out_ = false;
  /// When a commit of another daemon was last seen to wait for a standby of the database.
  StoreHealth::Clock::time_point standby_awaited_ = StoreHealth::Clock::time_point::min();
  /// When the lead was taken, and when its lease was renewed by KeepLease last.
  StoreHealth::Clock::time_point led_at_{}, kept_at_{};
  Epoch epoch_;  // 0: not leading
  /// Group numbers of this lead count from here; drawn at random for each lead (kTakeLease).
  std::int64_t first_group_ = 0;
  std::int64_t last_group_ = 0;
  /// Where the audit trail ends once the groups under way are written; not set: to be read first.
  std::optional<AuditHead> audit_head_;
  /// Groups in a row that the database refused because they did not continue its audit trail.
  int broken_chains_ = 0;
  std::deque<Group> sent_;     // groups under way, the oldest first
  std::int64_t last_seq_ = 0;  // highest event number committed in this session
  /// Ends first: its tries use the members above.
  Dialer<std::unique_ptr<PqConnection>> dialer_;
};

}  // namespace muster::pg
