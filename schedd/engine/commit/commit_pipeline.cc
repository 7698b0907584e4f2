// The life of a transaction: open, on its way, durable.
//
// Owners write rows, orders and answers into the open transaction. Send hands its rows to the store
// and opens the next one. The store makes commits of one epoch durable in the order in which it got
// them, and none after one that failed (schedd/store/store.h); Complete therefore always answers
// the oldest. A durable transaction is taken into the committed world at once. Its orders and
// answers wait in `due_` until the Publisher has published a view that contains it: a client that
// was answered finds its change in the view, and the dispatcher acts only on what is durable (rule
// D7).
//
// After a failed write (Fail) the pipeline sends nothing more. Answers of commits that were still
// on their way are taken and their clients are answered, but the committed world stays as it was;
// Recovery reads it anew and calls Reset and Resume.
#include "schedd/engine/commit/commit_pipeline.h"

#include <algorithm>
#include <iterator>

#include "schedd/base/fault_points.h"
#include "schedd/base/limits_slurm_steps_store.h"
#include "schedd/engine/commit/write_errors.h"
#include "schedd/engine/context/audit_rows.h"
#include "schedd/telemetry/log.h"

namespace muster {

CommitPipeline::CommitPipeline(EngineContext& context, DurableListener& listener)
    : context_(context), listener_(listener), pace_(context.clock, context.options.commit_depth) {}

// Event numbers are given here, in the order of decisions; streams get events in that order
// (TakeDue), so a reader can resume from any number.
std::int64_t CommitPipeline::AddEvent(const char* type, JobId job, std::string object,
                                      std::string reason, std::string message) {
  const bool repeated = MUSTER_PLANTED(event_number_repeated) && !tx_.events.empty();
  const std::int64_t seq = repeated ? tx_.events.back().seq : NextSeq();
  tx_.events.push_back({seq, context_.clock.WallNow(), type, job, std::move(object),
                        std::move(reason), std::move(message)});
  return seq;
}

void CommitPipeline::AddAudit(const Actor& actor, const char* verb, std::string object,
                              std::string detail, std::int64_t old_version,
                              std::int64_t new_version) {
  AuditRow& row = tx_.audit.emplace_back(
      AuditRowOf(actor, context_.clock.CalendarNow(), verb, std::move(object), std::move(detail)));
  row.old_version = old_version;
  row.new_version = new_version;
}

// A list is an order about no attempt: the key has the cluster alone.
void CommitPipeline::OrderList(const std::string& cluster) {
  tx_.orders.push_back({dispatch::Action::kList, DispatchKey{{}, 0, cluster}});
}

bool CommitPipeline::MaySend() const { return sent_.size() < pace_.CommitDepth() && !Resting(); }

// A configuration that is open or on its way forbids decisions: the store may still refuse it, and
// decisions by it would be lost with it.
bool CommitPipeline::MayDecide() const {
  return MaySend() && Room() > 0 && configs_in_flight_ == 0 && tx_.config == nullptr;
}

// A decision writes about one job row and one dispatch row; the larger number of the two counts.
std::size_t CommitPipeline::Room() const {
  return pace_.RoomAfter(std::max(tx_.jobs.size(), tx_.dispatches.size()));
}

std::size_t CommitPipeline::StepRoom() const {
  return limits::kStepRows - std::min(limits::kStepRows, tx_.steps.size());
}

// Three cases: rows are sent; a transaction without rows is sent anyway if the lead has to be
// confirmed; else its orders and answers join the last commit on its way, or are due at once if
// there is none.
void CommitPipeline::Send(const core::Usage& planned) {
  // Each answer of the database confirms the lead. If there was none lately and the dispatcher
  // waits for a permit, or orders without rows are to leave, an empty commit asks for one.
  LeadTerm* const lead = context_.options.lead.get();
  const bool confirms = lead != nullptr && sent_.empty() &&
                        (lead->Wanted() || (!tx_.orders.empty() && !lead->Holds(epoch_)));
  if (tx_.Empty() && !confirms) {
    if (tx_.orders.empty() && tx_.waiters.empty()) return;
    // Without rows the orders and answers are durable as soon as the commits are that they were
    // decided on.
    if (!sent_.empty()) {
      Transaction& last = sent_.back().transaction;
      std::move(tx_.orders.begin(), tx_.orders.end(), std::back_inserter(last.orders));
      std::move(tx_.waiters.begin(), tx_.waiters.end(), std::back_inserter(last.waiters));
    } else {
      Absorb(tx_, committed_.last_seq);
    }
    tx_ = Transaction{};
    return;
  }
  if (tx_.config != nullptr) ++configs_in_flight_;
  PlanCommit commit = tx_.MakeCommit(planned);
  Hand(std::exchange(tx_, Transaction{}), std::move(commit), false);
}

// Only while nothing is on its way: any other answer of the store tells as much as a heartbeat.
bool CommitPipeline::SendHeartbeat() {
  if (context_.options.heartbeat_ms <= 0 || !Settled() || context_.clock.Now() < HeartbeatDue())
    return false;
  Hand(Transaction{}, PlanCommit{}, true);
  return true;
}

Monotonic CommitPipeline::HeartbeatDue() const {
  return heard_at_ + MillisToNanos(context_.options.heartbeat_ms);
}

// The store answers on a thread of its own, perhaps after the engine is gone: the callback holds
// the inbox and nothing else.
void CommitPipeline::Hand(Transaction transaction, PlanCommit commit, bool heartbeat) {
  MUSTER_FAULT_POINT(commit_decided);
  if (MUSTER_PLANTED(reply_before_commit)) {
    for (const Waiter& waiter : std::exchange(transaction.waiters, {}))
      Answer([waiter] { waiter(nullptr); });
  }
  if (MUSTER_PLANTED(orders_before_commit)) {
    for (const Order& order : std::exchange(transaction.orders, {})) due_.orders.push_back(order);
  }
  sent_.push_back({std::move(transaction), context_.clock.Now(), heartbeat});
  pace_.Sent();
  context_.store.Commit(epoch_, std::move(commit),
                        [box = context_.inbox](Result<CommitVersion> outcome) {
    box->PushAlways(CommitDone{std::move(outcome)});
  });
  MUSTER_FAULT_POINT(commit_sent);
}

// The term counts from `sent`, not from the answer: another daemon may have taken the lead in
// between. After a failure the term has ended and is not renewed.
void CommitPipeline::NoteAnswer(Monotonic sent, bool confirms) {
  heard_at_ = context_.clock.Now();
  if (confirms && context_.options.lead != nullptr && !failed_)
    context_.options.lead->Renew(epoch_, sent);
}

// The answer is that of the oldest commit on its way. An empty heartbeat that succeeded changes
// nothing, so no view is published for it.
void CommitPipeline::Complete(CommitDone done) {
  MUSTER_CHECK(!sent_.empty());
  SentCommit sent = std::move(sent_.front());
  sent_.pop_front();
  pace_.Answered();
  if (done.outcome.ok()) NoteAnswer(sent.sent, true);
  // Orders and answers may have joined a heartbeat (see Send).
  const bool promises = !sent.transaction.orders.empty() || !sent.transaction.waiters.empty();
  if (sent.heartbeat && done.outcome.ok() && !promises) return;
  if (sent.transaction.config != nullptr) --configs_in_flight_;
  pace_.RestAfter(sent.sent);
  context_.metrics.commit_seconds.Observe(static_cast<double>(context_.clock.Now() - sent.sent) /
                                          static_cast<double>(kNanosPerSecond));
  if (done.outcome.ok()) return Absorb(sent.transaction, done.outcome->last_seq);
  if (MUSTER_PLANTED(unknown_taken_for_success) && done.outcome.error().code == Code::kUnknown)
    return Absorb(sent.transaction, committed_.last_seq);
  if (!failed_ && RefusedForGood(done.outcome.error())) StopOnRefusal(done.outcome.error());
  Fail(done.outcome.error());
  const Error error = WriteError(done.outcome.error());
  for (Waiter& waiter : sent.transaction.waiters) {
    Answer([waiter = std::move(waiter), error] { waiter(&error); });
  }
}

// What is durable by `done` becomes the committed world; its orders, answers and events become due.
// `last_seq`: the highest event number that is durable now.
void CommitPipeline::Absorb(const Transaction& done, std::int64_t last_seq) {
  MarkChanged();
  for (const Waiter& waiter : done.waiters) {
    Answer([waiter] { waiter(nullptr); });
  }
  due_.news.insert(due_.news.end(), done.events.begin(), done.events.end());
  due_.news.insert(due_.news.end(), done.news.begin(), done.news.end());
  // A commit before this one is lost: Recovery reads what the database has.
  if (failed_) return;
  committed_.last_seq = std::max(committed_.last_seq, last_seq);
  listener_.OnDurable(done, committed_.Take(done, context_.options.settings));
  due_.orders.insert(due_.orders.end(), done.orders.begin(), done.orders.end());
}

// Looks through all commits on their way: there are at most commit_depth of them.
bool CommitPipeline::IsOnItsWay(const DispatchKey& key) const {
  return tx_.dispatches.contains(key) ||
         std::any_of(sent_.begin(), sent_.end(), [&](const SentCommit& sent) {
           return sent.transaction.dispatches.contains(key);
         });
}

// The decisions contradict what is stored, and the same decisions would be refused for ever: the
// daemon stops with the sentence. After a lost write a refusal means nothing, because the rows that
// the refused commit was based on are not there; the caller does not call this then.
void CommitPipeline::StopOnRefusal(const Error& error) {
  Log(LogLevel::kError, "engine", "commit_refused",
      {{"reason", CodeName(error.code)}, {"err", error.detail}});
  FlushLog();
  CheckFailed(__FILE__, __LINE__, ("the store refused a commit: " + error.detail).c_str());
}

// Counts once until Resume: all later writes of the epoch fail for the same reason. kAborted means
// that another daemon leads.
void CommitPipeline::Fail(const Error& error) {
  if (error.code == Code::kAborted) context_.metrics.stale_epochs.Add();
  if (failed_) return;
  Log(LogLevel::kError, "engine", "store_write_failed",
      {{"reason", CodeName(error.code)}, {"err", error.detail}});
  failed_ = true;
  failure_ = "the database refused a write: " + error.detail;
  // Orders given under this lead are not carried out any more: neither those that are due nor those
  // that the dispatcher has already.
  if (context_.options.lead != nullptr) context_.options.lead->End();
  due_.orders.clear();
  context_.orders.Forget();
  MarkChanged();
}

void CommitPipeline::Show(const JobPtr& job) {
  committed_.jobs.Put(job);
  MarkChanged();
}

void CommitPipeline::NoteAccepted(std::int64_t seq) {
  committed_.last_seq = std::max(committed_.last_seq, seq);
  MarkChanged();
}

void CommitPipeline::Forget(JobId id) {
  committed_.Erase(id);
  MarkChanged();
}

// A sealed JobTable is shared with the view; the next Put copies what it changes.
const CommittedState& CommitPipeline::Seal() {
  committed_.jobs.Seal();
  return committed_;
}

// The open transaction was decided on a world that is gone; Engine has answered its waiters
// (FailWaiting).
void CommitPipeline::Reset(CommittedState committed, std::int64_t last_seq) {
  committed_ = std::move(committed);
  last_seq_ = committed_.last_seq = committed_.retired_seq = last_seq;
  tx_ = Transaction{};
  configs_in_flight_ = 0;
}

// With a lease a heartbeat is due at once: reading the world may have taken longer than the term.
void CommitPipeline::Resume() {
  heard_at_ = context_.options.lease == nullptr ? context_.clock.Now() : Monotonic{};
  failed_ = false;
  failure_.clear();
  MarkChanged();
}

// Rows of the open transaction were never sent, so nothing of them is written.
void CommitPipeline::FailWaiting(const Error& error) {
  for (Waiter& waiter : tx_.waiters) {
    Answer([waiter = std::move(waiter), error] { waiter(&error); });
  }
  tx_ = Transaction{};
}

std::int64_t CommitPipeline::SettledSeq() const {
  std::int64_t lowest = last_seq_ + 1;
  const auto note = [&lowest](const Transaction& one) {
    if (!one.events.empty()) lowest = std::min(lowest, one.events.front().seq);
    for (const Event& event : one.news) lowest = std::min(lowest, event.seq);
  };
  note(tx_);
  for (const SentCommit& sent : sent_) note(sent.transaction);
  if (!accepting_.empty()) lowest = std::min(lowest, accepting_.front());
  return lowest - 1;
}

CommitPipeline::DuePromises CommitPipeline::TakeDue() {
  DuePromises due = std::exchange(due_, DuePromises{});
  if (due.news.empty() && held_news_.empty()) return due;
  std::move(due.news.begin(), due.news.end(), std::back_inserter(held_news_));
  const auto by_number = [](const Event& a, const Event& b) { return a.seq < b.seq; };
  std::sort(held_news_.begin(), held_news_.end(), by_number);
  const std::int64_t settled = SettledSeq();
  const auto first_held =
      std::find_if(held_news_.begin(), held_news_.end(),
                   [settled](const Event& event) { return event.seq > settled; });
  due.news.assign(std::make_move_iterator(held_news_.begin()), std::make_move_iterator(first_held));
  held_news_.erase(held_news_.begin(), first_held);
  return due;
}

}  // namespace muster
