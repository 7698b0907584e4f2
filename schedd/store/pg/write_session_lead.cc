// WriteSession: taking, keeping and giving up the lease.
//
// A try to lead reads the lease and judges it (schedd/base/lease.h); the update that takes it takes
// nothing if the leader has renewed it in between. Before that update
// the session of the former leader is ended: if that daemon is stopped in the midst of a
// transaction, its session holds the leader row, and nobody could take it.
//
// Every group of writes renews the lease by its fence. Between taking the lead and its first write
// a daemon reads the database, which may take longer than a lease; the writer's thread, which is
// idle then, renews it meanwhile (KeepLease).
#include "schedd/base/limits_lease.h"
#include "schedd/store/pg/statements.h"
#include "schedd/store/pg/write_session.h"
#include "schedd/telemetry/log.h"

namespace muster::pg {
namespace {

using std::chrono::milliseconds;

std::string TextOf(const PGresult& rows, int column) { return PQgetvalue(&rows, 0, column); }

// "alpha at https://alpha:8686".
std::string NameOf(const LeaseRow& row) {
  return row.address.empty() ? row.holder : row.holder + " at " + row.address;
}

}  // namespace

void WriteSession::EndEpoch() {
  epoch_ = Epoch{};
  if (board_ != nullptr) board_->Lost();
}

Failure WriteSession::ReadLease(LeaseRow* row) {
  PgResult rows(nullptr, &PQclear);
  Failure failure = connection_->Query(sql::kReadLease, Params(), &rows);
  if (failure.kind != FailureKind::kNone) return failure;
  if (PQntuples(rows.get()) != 1) {
    return {FailureKind::kEnvironment,
            Error{Code::kDataLoss, "the database has lost its leader row"}};
  }
  row->epoch.value = IntAt(*rows, 0, 0);
  row->holder = TextOf(*rows, 1);
  row->id = TextOf(*rows, 2);
  row->address = TextOf(*rows, 3);
  row->since.us = IntAt(*rows, 0, 4);
  row->left_ms = IntAt(*rows, 0, 5);
  row->ttl_ms = IntAt(*rows, 0, 6);
  row->renewal = IntAt(*rows, 0, 7);
  row->released = TextOf(*rows, 8) == "t";
  row->awaits_standby = TextOf(*rows, 9) == "t";
  return {};
}

// A standby that has seen another daemon lead is patient no longer: when that lease ends, it is its
// turn.
Failure WriteSession::MayTake(const LeaseRow& row) {
  if (board_ == nullptr) return {};
  LeaseBoard::Self self = board_->self();
  if (self.sole) return {};
  const LeaseState state = StateOf(row, self.id);
  if (state == LeaseState::kHeld) {
    self.patient_until = Monotonic{};
    board_->SetSelf(self);
    std::string who = "another daemon leads: " + NameOf(row);
    if (row.awaits_standby) who += " (its commit waits for a synchronous standby of the database)";
    return {FailureKind::kEnvironment, Unavailable(std::move(who))};
  }
  // That lease is over because nothing can be committed, by this daemon as little as by the other
  // one, whose commit waits. It has a lease's time to go on when the standby is back.
  const auto now = StoreHealth::Clock::now();
  const bool waited = now < standby_awaited_ + milliseconds(self.ttl_ms);
  if (state == LeaseState::kFree && waited && !row.released && row.id != self.id) {
    return {FailureKind::kEnvironment,
            Unavailable("waiting for a synchronous standby of the database, as a commit of the "
                        "last leader does: " +
                        NameOf(row))};
  }
  const auto is_before = [now](Monotonic time) {
    return now < StoreHealth::Clock::time_point(std::chrono::nanoseconds(time.ns));
  };
  if (is_before(self.resigned_until)) {
    return {FailureKind::kEnvironment,
            Unavailable("this daemon could not read the database and leaves the lead to others")};
  }
  if (state == LeaseState::kFree && is_before(self.patient_until)) {
    return {FailureKind::kEnvironment,
            Unavailable("nobody leads; this standby leaves the lead to another daemon at first")};
  }
  return {};
}

// A former leader's session that this role may not end keeps the row until its transaction ends;
// the update then runs into its lock timeout, and is tried again.
Failure WriteSession::TakeLease(const LeaseRow& before, const std::string& holder,
                                std::chrono::milliseconds wait) {
  LeaseBoard::Self self;
  self.sole = true;
  self.ttl_ms = limits::kLeaseTtlMs;
  if (board_ != nullptr) self = board_->self();
  const bool own = self.sole || StateOf(before, self.id) == LeaseState::kOwn;
  Failure failure = connection_->Query(
      sql::kEndLeader,
      Params().Int8(before.epoch.value).Text(own ? "true" : "false").Int8(before.renewal), nullptr);
  if (failure.kind == FailureKind::kConnection) return failure;
  const auto limit = [this](std::int64_t ms) {
    return connection_->Query(sql::kSetLockTimeout, Params().Text(std::to_string(ms)), nullptr);
  };
  failure = limit(std::max<std::int64_t>(wait.count(), 1));
  if (failure.kind != FailureKind::kNone) return failure;
  PgResult rows(nullptr, &PQclear);
  const auto asked = StoreHealth::Clock::now();
  failure = connection_->Query(sql::kTakeLease,
                               Params()
                                   .Int8(before.epoch.value)
                                   .Text(own ? "true" : "false")
                                   .Text(holder)
                                   .Text(self.id)
                                   .Text(self.address)
                                   .Int8(self.ttl_ms)
                                   .Int8(before.renewal)
                                   .Int8(limits::kFailoverSkipsEvents)
                                   .Int8(limits::kFailoverSkipsJobs)
                                   .Int8(limits::kFailoverSkipsEpochs),
                               &rows);
  if (failure.kind != FailureKind::kNone) return failure;
  if (PQntuples(rows.get()) != 1) {
    kept_out_ = true;
    return {FailureKind::kEnvironment, Unavailable("another daemon leads: it was faster")};
  }
  failure = limit(0);
  if (failure.kind != FailureKind::kNone) return failure;
  epoch_.value = IntAt(*rows, 0, 0);
  first_group_ = last_group_ = IntAt(*rows, 0, 1);
  led_at_ = kept_at_ = asked;
  if (board_ == nullptr) return {};
  LeaseRow now;
  now.epoch = epoch_;
  now.holder = holder;
  now.id = self.id;
  now.address = self.address;
  now.since.us = IntAt(*rows, 0, 2);
  now.left_ms = now.ttl_ms = self.ttl_ms;
  board_->Took(before, now);
  return {};
}

// A lead that the engine does not want any more is given up, so that another daemon need not wait.
Failure WriteSession::Resign() {
  if (board_ == nullptr || epoch_.value == 0) return {};
  const std::chrono::nanoseconds until(board_->self().resigned_until.ns);
  if (StoreHealth::Clock::now() >= StoreHealth::Clock::time_point(until)) return {};
  Log(LogLevel::kWarning, "store", "lease_resigned", {{"epoch", epoch_.value}});
  return connection_->Query(sql::kReleaseLease, Params().Int8(epoch_.value), nullptr);
}

Failure WriteSession::TakeLead(const std::string& holder, std::chrono::milliseconds wait) {
  kept_out_ = false;
  LeaseRow row;
  Failure failure = Connect();
  if (failure.kind == FailureKind::kNone) failure = Resign();
  if (failure.kind == FailureKind::kNone) failure = ReadLease(&row);
  if (failure.kind != FailureKind::kNone) return failure;
  EndEpoch();
  if (row.awaits_standby) standby_awaited_ = StoreHealth::Clock::now();
  if (board_ != nullptr) row = board_->Saw(row);
  failure = MayTake(row);
  kept_out_ = failure.kind != FailureKind::kNone;
  return kept_out_ ? failure : TakeLease(row, holder, wait);
}

// An existing session may be dead without a sign, so a lost connection is tried once more.
Result<Lease> WriteSession::Lead(const std::string& holder, std::chrono::milliseconds wait) {
  const bool had_session = connection_ != nullptr;
  Failure failure = TakeLead(holder, wait);
  if (failure.kind == FailureKind::kConnection && had_session) failure = TakeLead(holder, wait);
  if (failure.kind == FailureKind::kNone) {
    audit_head_.reset();  // another daemon may have led meanwhile
    if (health_ != nullptr) health_->Leads();
    return Lease{epoch_};
  }
  // A server that refuses writes may have been demoted: a new connection may reach its successor.
  if (!kept_out_) {
    Drop(failure.error.detail);
  } else if (health_ != nullptr) {
    health_->Answers();
  }
  return failure.error;
}

std::optional<StoreHealth::Clock::time_point> WriteSession::KeepLeaseAt() const {
  const bool reads = epoch_.value != 0 && first_group_ == last_group_ && connection_ != nullptr;
  if (!reads || board_ == nullptr || board_->self().sole) return std::nullopt;
  if (kept_at_ - led_at_ > std::chrono::milliseconds(limits::kRecoveryKeepsLeaseMs))
    return std::nullopt;
  return kept_at_ + std::chrono::milliseconds(RenewEveryMs(board_->self().ttl_ms));
}

// A failure is not told to anybody: the next write finds it.
void WriteSession::KeepLease() {
  kept_at_ = StoreHealth::Clock::now();
  const Failure failure =
      connection_->Query(sql::kRenewLease, Params().Int8(epoch_.value), nullptr);
  if (failure.kind == FailureKind::kConnection) Drop(failure.error.detail);
}

void WriteSession::ReleaseLease() {
  if (epoch_.value == 0 || board_ == nullptr || connection_ == nullptr || !connection_->alive())
    return;
  // A private database has no other daemons, and one that hangs must not hold up the stop.
  if (board_->self().sole) return EndEpoch();
  connection_->SetAnswerWithin(std::chrono::milliseconds(limits::kReleaseWithinMs));
  const Failure failure =
      connection_->Query(sql::kReleaseLease, Params().Int8(epoch_.value), nullptr);
  Log(LogLevel::kInfo, "store", "lease_released",
      {{"epoch", epoch_.value}, {"released", failure.kind == FailureKind::kNone}});
  EndEpoch();
}

}  // namespace muster::pg
