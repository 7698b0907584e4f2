// CommitPipeline: the way of decisions to the store and back. One transaction is open; Send hands
// its rows to the store; at most EngineOptions::commit_depth commits are on their way. Orders,
// answers and events of a transaction become due when it is durable, and leave (TakeDue) after the
// view that contains it was published.
//
// After a failed write nothing is sent any more, waiting clients get kUnavailable and the lead
// ends. Recovery reads the store again and calls Reset and Resume. On the engine thread only.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "schedd/engine/commit/committed_state.h"
#include "schedd/engine/commit/pace.h"
#include "schedd/engine/commit/transaction.h"
#include "schedd/engine/context/engine_context.h"

namespace muster {

/// Called for each durable transaction, before the view that contains it is published. Owners
/// implements it.
class DurableListener {
 public:
  virtual ~DurableListener() = default;
  /// `ended`: the jobs that have ended by it.
  virtual void OnDurable(const Transaction& done, const std::vector<JobPtr>& ended) = 0;
};

class CommitPipeline {
 public:
  /// Both must outlive it.
  CommitPipeline(EngineContext& context, DurableListener& listener);

  // --- the open transaction

  Transaction& tx() { return tx_; }
  const Transaction& tx() const { return tx_; }
  /// Adds an event to the open transaction. Returns its sequence number, which becomes the resource
  /// version of the job or object that the event is about.
  std::int64_t AddEvent(const char* type, JobId job, std::string object, std::string reason,
                        std::string message);
  /// Adds a row of the audit trail to the open transaction. The versions are those of the object
  /// before and after the change, if it is about one; 0: none.
  void AddAudit(const Actor& actor, const char* verb, std::string object, std::string detail,
                std::int64_t old_version = 0, std::int64_t new_version = 0);
  /// Calls `waiter` when the open transaction is durable and published, or with the error if it is
  /// lost.
  void AnswerAfterCommit(Waiter waiter) { tx_.waiters.push_back(std::move(waiter)); }
  /// Answers a command about one object when all that was decided before is durable: a refusal
  /// ("has already ended") rests on it as much as a success does. If it is lost, that is the
  /// answer.
  template <class T>
  void AnswerOutcome(Callback<T> done, const Result<T>& outcome);
  /// Orders a complete list of the objects on this member cluster.
  void OrderList(const std::string& cluster);
  /// The last event number that was given out; it may not be durable yet.
  std::int64_t last_seq() const { return last_seq_; }
  std::int64_t NextSeq() { return ++last_seq_; }
  /// Every event up to this number is durable or will never be, so that a stream which has gone on
  /// to it has missed nothing. Numbers are given when something is decided, and a submission may be
  /// durable before a commit with lower numbers is.
  std::int64_t SettledSeq() const;
  /// A batch of submissions whose first number is `seq` is to be written; the store answers batches
  /// in the order of these calls, and EndAccept is called with each answer.
  void BeginAccept(std::int64_t seq) { accepting_.push_back(seq); }
  void EndAccept() { accepting_.pop_front(); }
  /// The last batch is not written at all.
  void DropAccept() { accepting_.pop_back(); }

  // --- what leaves it

  /// Calls `answer` after the next publication.
  void Answer(std::function<void()> answer) { due_.answers.push_back(std::move(answer)); }
  /// Passes on an event that is durable already (a submission) with the next publication.
  void AddNews(Event event) { due_.news.push_back(std::move(event)); }
  /// Has the next Publisher::Publish make a new view.
  void MarkChanged() { changed_ = true; }

  // --- sending

  /// True if another commit may leave now: fewer than the depth are on their way and Pace does not
  /// rest.
  bool MaySend() const;
  /// True while sending and deciding rest for the sake of submissions (Pace::Resting).
  bool Resting() const { return pace_.Resting(!tx_.waiters.empty()); }
  /// True if decisions may be taken: another commit has room for their rows, and the configuration
  /// that they go by is durable.
  bool MayDecide() const;
  /// How many more rows the open transaction may take.
  std::size_t Room() const;
  /// The same for rows of steps, which take no room from the others.
  std::size_t StepRoom() const;
  /// Sends the open transaction, with the amounts of `planned`, if it has rows or the lead has to
  /// be confirmed. Orders and answers without rows join the last commit that is on its way.
  void Send(const core::Usage& planned);
  /// Sends an empty commit if the store has not answered anything for heartbeat_ms; true if it did.
  bool SendHeartbeat();
  Monotonic HeartbeatDue() const;
  /// Takes the store's answer to the oldest commit on its way.
  void Complete(CommitDone done);
  /// The store has answered another write (Store::Accept) that was sent at `sent`. `confirms`: the
  /// answer proves that this daemon leads.
  void NoteAnswer(Monotonic sent, bool confirms);
  /// A write has failed: see the top of this file.
  void Fail(const Error& error);
  bool failed() const { return failed_; }
  /// A sentence about the failed write; "" if none has failed.
  const std::string& failure() const { return failure_; }
  /// True while nothing is on its way to the store and there is nothing to send.
  bool Settled() const { return !pace_.Outstanding() && tx_.Empty(); }
  /// True while no commit is on its way.
  bool Idle() const { return sent_.empty(); }
  /// True if the newest row of this attempt is not durable yet.
  bool IsOnItsWay(const DispatchKey& key) const;

  // --- the committed world

  const CommittedState& committed() const { return committed_; }
  /// Puts a record with another reason or other counts into the view before it is written
  /// (LiveJobs::PutSoft).
  void Show(const JobPtr& job);
  /// A submission is durable: its job enters the committed world.
  void TakeAccepted(const JobPtr& job) { committed_.Put(job); }
  /// The event number of a durable submission; the view shows at least this one.
  void NoteAccepted(std::int64_t seq);
  /// An ended job leaves memory.
  void Forget(JobId id);
  /// The committed world for a new view; its job table does not change any more (later changes
  /// copy).
  const CommittedState& Seal();

  // --- recovery

  Epoch epoch() const { return epoch_; }
  void BeginEpoch(Epoch epoch) { epoch_ = epoch; }
  /// Replaces the committed world with the one that the store has; the open transaction is dropped.
  void Reset(CommittedState committed, std::int64_t last_seq);
  /// The world is read and recomputed: writes may go on.
  void Resume();
  /// Answers the clients of the open transaction, which is dropped.
  void FailWaiting(const Error& error);

  /// The orders, answers and events of transactions that became durable since the last TakeDue.
  /// Events come in the order of their numbers and without gaps: those beyond SettledSeq wait.
  struct DuePromises {
    std::vector<Order> orders;
    std::vector<std::function<void()>> answers;
    std::vector<Event> news;
  };
  DuePromises TakeDue();
  bool HasAnswers() const { return !due_.answers.empty(); }
  /// True if a new view is needed; the mark is taken away.
  bool TakeChanged() { return std::exchange(changed_, false); }

  Pace& pace() { return pace_; }
  const Pace& pace() const { return pace_; }

 private:
  struct SentCommit {
    Transaction transaction;
    Monotonic sent;
    // It has no rows: only whether it could be written matters.
    bool heartbeat = false;
  };

  void Hand(Transaction transaction, PlanCommit commit, bool heartbeat);
  void Absorb(const Transaction& done, std::int64_t last_seq);
  [[noreturn]] void StopOnRefusal(const Error& error);

  EngineContext& context_;
  DurableListener& listener_;
  Pace pace_;
  Epoch epoch_;
  std::int64_t last_seq_ = 0;
  Transaction tx_;
  std::deque<SentCommit> sent_;
  int configs_in_flight_ = 0;
  bool failed_ = false;  // a write failed, and the store has not been read since
  std::string failure_;
  Monotonic heard_at_{};  // when the store made something durable last
  CommittedState committed_;
  DuePromises due_;
  std::deque<std::int64_t> accepting_;  // first numbers of the batches that are not answered
  std::vector<Event> held_news_;        // durable events beyond SettledSeq, by number
  bool changed_ = false;
};

template <class T>
void CommitPipeline::AnswerOutcome(Callback<T> done, const Result<T>& outcome) {
  // With nothing under way a refusal changes nothing, not even the view.
  if (!outcome.ok() && Settled())
    return Answer([done = std::move(done), error = outcome.error()] { done(error); });
  AnswerAfterCommit([done = std::move(done), outcome](const Error* lost) {
    if (lost != nullptr) {
      done(*lost);
    } else {
      done(outcome);
    }
  });
}

}  // namespace muster
