// How a group is written, and how its outcome is found when the answer is lost.
//
// Writing: a group is one pipeline up to a sync point, which PostgreSQL makes one transaction
// without BEGIN and COMMIT. Its first statement is the fence, muster_fence(epoch, group): it fails
// for an epoch that has passed and records the group's number in the leader row. If the transaction
// fails by one unit (a constraint, a bad value), it is halved and written again until that unit
// stands alone. A PlanCommit that fails ends the epoch for this session, because the engine has
// decided later plans on top of it.
//
// Lost answers: after the connection is lost during a commit, the session connects again and closes
// the epoch. Closing it waits for a transaction that is still under way and fences one that has not
// begun; if another daemon has ended the epoch, the session waits for the leader row instead. A
// trigger keeps the last group's number of every ended epoch (table ended_epochs), so the outcome
// can also be found under another leader. Each unit is judged by a row that only its own
// transaction can have written: a plan by its group's number, a new job by its id and uid, because
// another leader may have given the same id to another job. If the database stays away until
// resolve_ms after the sending, the units are answered with kUnknown.
//
// Group numbers of two leads never meet: each lead begins at a random multiple of 2^32, so a number
// means one group for ever, also after a restored backup.
#include "schedd/store/pg/write_session.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>
#include <set>
#include <utility>

#include "schedd/base/limits_dialer.h"
#include "schedd/base/mutex.h"
#include "schedd/store/new_job.h"
#include "schedd/store/pg/statements.h"
#include "schedd/telemetry/log.h"

namespace muster::pg {
namespace {

std::vector<const NewJob*> JobsOf(std::span<const WriteUnit> units) {
  std::vector<const NewJob*> jobs;
  for (const WriteUnit& unit : units) {
    if (unit.job != nullptr) jobs.push_back(unit.job);
  }
  return jobs;
}

const Error kLostLead = Aborted("this daemon lost its lead with its database session");

// How many group numbers a lead has. kTakeLease draws the first one at random, so two leads never
// use the same number, even if the database was restored between them.
constexpr std::int64_t kGroupsOfLead = std::int64_t{1} << 32;

// How often in a row a group is written again that does not continue the audit trail. A group that
// follows a failed one needs one; more mean that somebody else writes to the table.
constexpr int kChainTries = 3;

constexpr std::chrono::seconds kConnectAgainAfter{1};
// For each statement that sets a new session up; none of them waits for a lock.
constexpr std::chrono::seconds kSetUpWithin{2};

}  // namespace

WriteSession::WriteSession(std::string url, std::int64_t resolve_ms, Watchdog& watchdog,
                           StoreHealth* health, LeaseBoard* board)
    : url_(std::move(url)),
      resolve_ms_(resolve_ms),
      watchdog_(watchdog),
      health_(health),
      board_(board),
      dialer_([this] { return PqConnection::Open(url_, watchdog_); }) {}

void WriteSession::Drop(std::string why) {
  connection_.reset();
  EndEpoch();
  audit_head_.reset();
  if (health_ == nullptr) return;
  health_->Rests();
  health_->Lost(std::move(why));
}

void WriteSession::NoteWaiting() {
  if (health_ == nullptr) return;
  if (sent_.empty()) {
    health_->Rests();
  } else {
    health_->Waits(sent_.front().sent);
  }
}

// Opens a session and prepares every statement of the writer. A failed try is remembered for a
// second, so that queued calls fail at once instead of waiting for another one each.
Failure WriteSession::Connect() {
  if (connection_ != nullptr && connection_->alive()) return {};
  if (connection_ != nullptr) Drop("the connection to the database was lost");
  auto opened = dialer_.Dial(std::chrono::milliseconds(limits::kDialMs));
  if (!opened.ok()) {
    away_ = {FailureKind::kConnection, opened.error()};
    away_until_ = StoreHealth::Clock::now() + kConnectAgainAfter;
    return away_;
  }
  (*opened)->SetAnswerWithin(kSetUpWithin);
  Failure failure = (*opened)->OwnSession();
  if (failure.kind == FailureKind::kNone) failure = (*opened)->Execute(sql::kWriterSettings);
  if (failure.kind == FailureKind::kNone) {
    // What stands between the daemon and the server may refuse these settings.
    const Failure ends = (*opened)->Execute(sql::kSessionEnds);
    if (ends.kind == FailureKind::kConnection) failure = ends;
  }
  PgResult commits(nullptr, &PQclear);
  if (failure.kind == FailureKind::kNone)
    failure = (*opened)->Query(sql::kSynchronousCommit, Params(), &commits);
  for (const sql::PreparedStatement& statement : sql::kWriterStatements) {
    if (failure.kind != FailureKind::kNone) return failure;
    failure = (*opened)->Prepare(statement.name, statement.text);
  }
  if (failure.kind != FailureKind::kNone) return failure;
  (*opened)->SetAnswerWithin(std::chrono::milliseconds(limits::kAnswerWithinMs));
  connection_ = std::move(opened).value();
  if (health_ != nullptr) health_->Opened(PQgetvalue(commits.get(), 0, 0));
  return {};
}

void WriteSession::Listen() {
  if (connection_ != nullptr && !connection_->Listen())
    Drop("the connection to the database was lost");
}

// Units that fail their own checks are answered here and never sent.
void WriteSession::Write(Epoch epoch, std::span<WriteUnit> units, std::stop_token stop) {
  for (WriteUnit& unit : units) {
    if (unit.job == nullptr) continue;
    const Status sound = CheckNewJob(*unit.job);
    if (!sound.ok()) unit.accepted = sound.error();
  }
  // A failed try to connect takes its time: the calls behind it do not wait for another one.
  const bool tried = connection_ == nullptr && StoreHealth::Clock::now() < away_until_;
  const Failure connected = tried ? away_ : Connect();
  const Error* refusal = nullptr;
  if (connected.kind != FailureKind::kNone) {
    refusal = &connected.error;
  } else if (epoch_.value == 0 || epoch != epoch_) {
    refusal = &kLostLead;
  }
  if (refusal != nullptr) {
    for (WriteUnit& unit : units) {
      if (!unit.answered()) unit.Fail(*refusal);
    }
    return;
  }
  WriteRest(units, 0, stop);
}

// The units before `begin` are answered. Units that are answered already are few: they only split
// the group around them.
void WriteSession::WriteRest(std::span<WriteUnit> units, std::size_t begin,
                             const std::stop_token& stop) {
  while (begin < units.size()) {
    if (!units[begin].answered()) FailUnnoted(units, begin);
    std::size_t end = begin;
    while (end < units.size() && !units[end].answered()) ++end;
    if (end > begin) WriteGroup(units.subspan(begin, end - begin), stop);
    begin = std::max(end, begin + 1);
  }
}

bool WriteSession::StartJobs(Epoch epoch, std::span<WriteUnit> units) {
  if (connection_ == nullptr || !connection_->alive()) return false;
  if (epoch_.value == 0 || epoch != epoch_ || !audit_head_) return false;
  for (const WriteUnit& unit : units) {
    if (unit.commit != nullptr || (unit.job != nullptr && !CheckNewJob(*unit.job).ok()))
      return false;
  }
  Start(units);
  return true;
}

void WriteSession::WriteGroup(std::span<WriteUnit> units, const std::stop_token& stop) {
  if (epoch_.value == 0) return FailUnits(units, {FailureKind::kFenced, kLostLead});
  if (const Failure head = ReadAuditHead(); head.kind != FailureKind::kNone)
    return FailUnits(units, head);
  Start(units);
  FinishOldest(stop);
}

// A lost connection here is noticed by the next write; nothing is under way that it could have
// lost.
Failure WriteSession::ReadAuditHead() {
  if (audit_head_) return {};
  AuditHead head;
  Failure failure = pg::ReadAuditHead(*connection_, &head);
  if (failure.kind == FailureKind::kNone) audit_head_ = std::move(head);
  return failure;
}

// In the good case one answer is read and passed on. After a failure the connection is needed for
// halving or for resolving, so all groups under way are finished first: a group in the middle may
// have failed by a unit, while the answers after a lost connection are all lost.
void WriteSession::FinishOldest(const std::stop_token& stop) {
  Failure failure = connection_->Finish();
  if (failure.kind == FailureKind::kNone) {
    Answer(sent_.front().units, sent_.front().findings);
    sent_.pop_front();
    NoteWaiting();
    broken_chains_ = 0;
    return;
  }
  audit_head_.reset();              // counted with a group that is not written
  std::size_t lost = sent_.size();  // index of the first group whose answer was lost
  for (std::size_t i = 0; i < sent_.size(); ++i) {
    sent_[i].outcome = i == 0 ? failure : connection_->Finish();
    if (sent_[i].outcome.kind == FailureKind::kConnection) {
      lost = i;
      break;
    }
  }
  std::vector<Group> groups(std::make_move_iterator(sent_.begin()),
                            std::make_move_iterator(sent_.end()));
  sent_.clear();
  if (lost < groups.size()) Resolve(std::span(groups).subspan(lost), stop);
  NoteWaiting();
  for (std::size_t i = 0; i < lost; ++i) Settle(groups[i], stop);
}

void WriteSession::Settle(const Group& group, const std::stop_token& stop) {
  switch (group.outcome.kind) {
    case FailureKind::kNone:
      Answer(group.units, group.findings);
      return;
    case FailureKind::kItem:
      if (group.units.size() > 1) {
        const std::size_t half = group.units.size() / 2;
        WriteGroup(group.units.first(half), stop);
        return WriteRest(group.units, half, stop);
      }
      break;
    case FailureKind::kChain:
      // A group before this one was not written, and its rows are missing. It is written again
      // behind what is there.
      if (++broken_chains_ <= kChainTries) return WriteGroup(group.units, stop);
      break;
    case FailureKind::kFenced:
      EndEpoch();
      break;
    case FailureKind::kConnection:
    case FailureKind::kEnvironment:
      break;
  }
  FailUnits(group.units, group.outcome);
}

void WriteSession::FailUnits(std::span<WriteUnit> units, const Failure& failure) {
  const NewJob* job = nullptr;
  for (WriteUnit& unit : units) {
    unit.Fail(failure.error);
    if (unit.job != nullptr) job = unit.job;
    // The engine's later plans depend on this one: nothing more of this epoch is written.
    if (unit.commit != nullptr) EndEpoch();
  }
  if (job != nullptr && failure.kind == FailureKind::kEnvironment && health_ != nullptr)
    health_->Refuses(failure.error.detail, *job);
}

// Queues the fence and the statements of all units. Consecutive new jobs become one statement; a
// plan between them keeps its place, so the order of the calls is the order of the writes. Audit
// rows come last, all together, in the order of the units.
void WriteSession::Start(std::span<WriteUnit> units) {
  Group& group = sent_.emplace_back();
  group.units = units;
  group.number = ++last_group_;
  group.sent = StoreHealth::Clock::now();
  NoteWaiting();
  connection_->Begin();
  connection_->Queue(sql::kFence.name, Params().Int8(epoch_.value).Int8(group.number));
  std::vector<const NewJob*> run;      // consecutive new jobs: one statement
  std::vector<const AuditRow*> audit;  // of all units: one statement
  const auto note = [&audit](const std::vector<AuditRow>& rows) {
    for (const AuditRow& row : rows) audit.push_back(&row);
  };
  std::set<std::pair<std::string_view, std::string_view>> keys;
  const auto flush = [&] {
    if (!run.empty()) QueueAccept(run, *connection_, &group.findings);
    run.clear();
    keys.clear();
  };
  for (const WriteUnit& unit : units) {
    if (unit.commit != nullptr) {
      flush();
      QueueCommit(*unit.commit, *connection_);
      note(unit.commit->audit);
      continue;
    }
    if (unit.audit != nullptr) {
      note(*unit.audit);
      continue;
    }
    const auto& key = unit.job->idempotency;
    if (key.has_value() && !keys.emplace(key->scope, key->key).second) {
      flush();  // the second use of a key must see the first one's outcome
      keys.emplace(key->scope, key->key);
    }
    run.push_back(unit.job);
  }
  flush();
  QueueAudit(audit, &*audit_head_, *connection_);
  connection_->Send();
}

void WriteSession::Answer(std::span<WriteUnit> units, const AcceptFindings& findings) {
  bool jobs = false;
  for (WriteUnit& unit : units) {
    if (unit.job != nullptr) {
      unit.accepted = AnswerFor(*unit.job, findings);
      jobs = true;
      continue;
    }
    if (unit.audit != nullptr) {
      unit.noted = Done{};
      continue;
    }
    for (const Event& event : unit.commit->events) last_seq_ = std::max(last_seq_, event.seq);
    unit.committed = CommitVersion{last_seq_};
  }
  if (jobs && health_ != nullptr) health_->Accepts();
}

// Tries again with growing pauses until the outcome is known, the time is up, or the store stops.
void WriteSession::Resolve(std::span<Group> groups, const std::stop_token& stop) {
  using Clock = StoreHealth::Clock;
  const std::int64_t first_group = first_group_, last_group = last_group_;
  const Epoch epoch = epoch_;
  // The time counts from the sending. A process that was suspended meanwhile still tries for a
  // quarter of the time.
  const auto whole = std::chrono::milliseconds(resolve_ms_);
  const Clock::time_point until = std::max(groups.front().sent + whole, Clock::now() + whole / 4);
  std::int64_t pause = 20;
  for (;;) {
    Drop("the database is asked whether the last changes were written");
    Failure failure = Connect();
    if (failure.kind == FailureKind::kNone) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
      connection_->SetAnswerWithin(std::max(left, std::chrono::milliseconds(100)));
      epoch_ = epoch;
      first_group_ = first_group;
      last_group_ = last_group;
      failure = AskOutcome(groups);
      EndEpoch();
      connection_->SetAnswerWithin(std::chrono::milliseconds(limits::kAnswerWithinMs));
    }
    if (failure.kind == FailureKind::kNone) return;
    if (Clock::now() >= until || stop.stop_requested() || watchdog_.stopped()) break;
    SleepFor(stop, std::chrono::milliseconds(pause));
    pause = std::min<std::int64_t>(pause * 2, 500);
  }
  Log(LogLevel::kError, "store", "commit_outcome_unknown", {{"epoch", epoch.value}});
  const Error unknown{
      Code::kUnknown, "the database went away during the commit; ask before you retry", {}, 1000};
  for (Group& group : groups) {
    for (WriteUnit& unit : group.units) unit.Fail(unknown);
  }
}

// Closing the epoch updates the leader row. Waiting for that row is also the wait for a transaction
// of the old session that holds it.
Failure WriteSession::AskEnd(EndOfEpoch* end) {
  PgResult rows(nullptr, &PQclear);
  const std::int64_t past = first_group_ + kGroupsOfLead;
  Failure failure = connection_->Query(
      sql::kCloseEpoch, Params().Int8(epoch_.value).Int8(first_group_).Int8(past - 1), &rows);
  if (failure.kind != FailureKind::kNone) return failure;
  if (PQntuples(rows.get()) == 0) {
    failure = connection_->Query(sql::kAwaitLeader, Params(), nullptr);
    if (failure.kind != FailureKind::kNone) return failure;
  }
  failure = connection_->Query(sql::kLastGroupOf, Params().Int8(epoch_.value), &rows);
  if (failure.kind != FailureKind::kNone || PQntuples(rows.get()) != 1) return failure;
  end->last_group = IntAt(*rows, 0, 0);
  // A number outside this lead's range: the database was restored, and another lead had the epoch.
  end->known = end->last_group >= first_group_ && end->last_group < past;
  return {};
}

// All questions are asked before the first unit is answered: if one fails, Resolve asks all again.
Failure WriteSession::AskOutcome(std::span<Group> groups) {
  EndOfEpoch end;
  Failure failure = AskEnd(&end);
  if (failure.kind != FailureKind::kNone) return failure;
  for (Group& group : groups) {
    group.findings = AcceptFindings{};
    const std::vector<const NewJob*> jobs = JobsOf(group.units);
    if (jobs.empty()) continue;
    failure = FindOutcome(jobs, *connection_, &group.findings);
    if (failure.kind != FailureKind::kNone) return failure;
  }
  for (const Group& group : groups) Judge(group, end);
  return {};
}

void WriteSession::Judge(const Group& group, const EndOfEpoch& end) {
  const Error nothing = Unavailable("the connection to the database was lost; nothing was written");
  const Error unknown{
      Code::kUnknown,
      "the database does not know how this daemon's lead ended; whether this change was written is "
      "not known",
      {},
      1000};
  // Only the group's own transaction writes its number or a job with one of its uids. Of several
  // groups under way only the last number is recorded; the others have only jobs.
  const bool last = end.known && end.last_group == group.number;
  const bool written = last || !group.findings.inserted.empty();
  std::int64_t there = 0;
  for (WriteUnit& unit : group.units) {
    if (unit.audit != nullptr) {
      // In the transaction of its jobs.
      unit.noted = written ? Status(Done{}) : Status(nothing);
    } else if (unit.job != nullptr && written) {
      unit.accepted = AnswerFor(*unit.job, group.findings);
      there += unit.accepted->ok() ? 1 : 0;
    } else if (unit.commit != nullptr && last) {
      Answer({&unit, 1}, group.findings);
      ++there;
    } else {
      unit.Fail(unit.job != nullptr || end.known ? nothing : unknown);
    }
  }
  Log(LogLevel::kWarning, "store", "commit_answer_lost",
      {{"epoch", epoch_.value},
       {"written", there},
       {"units", static_cast<std::int64_t>(group.units.size())}});
}

}  // namespace muster::pg
