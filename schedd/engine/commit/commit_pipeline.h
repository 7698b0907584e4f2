// CommitPipeline: one transaction at a time is open; it leaves for the store with its rows, at most
// EngineOptions::commit_depth are on their way, and what a transaction promised (orders, answers,
// events) happens when it is durable.
//
// Answers and orders that became due are kept until the view that shows what they are based on has
// been published: TakeDue. After a failed write nothing is sent any more; what waits is told
// kUnavailable, the lead ends, and Reset begins anew when the engine has read the store again.
// On the engine thread only.
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

/// Who is told of a durable transaction, before it is published.
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
  /// Adds an event and gives its sequence number, which is the resource version of what it is of.
  std::int64_t AddEvent(const char* type, JobId job, std::string object, std::string reason,
                        std::string message);
  void AddAudit(const Actor& actor, const char* verb, std::string object, std::string detail);
  void AnswerAfterCommit(Waiter waiter) { tx_.waiters.push_back(std::move(waiter)); }
  /// Answers a command about one object once the transaction is durable, or at once if it failed.
  template <class T>
  void AnswerOutcome(Callback<T> done, const Result<T>& outcome);
  /// Asks a member cluster for everything that it has.
  void OrderList(const std::string& cluster);
  std::int64_t last_seq() const { return last_seq_; }
  std::int64_t NextSeq() { return ++last_seq_; }

  // --- what leaves it

  /// Called after the next publication.
  void Answer(std::function<void()> answer) { due_.answers.push_back(std::move(answer)); }
  /// An event that is durable already: it is told with the next publication.
  void AddNews(Event event) { due_.news.push_back(std::move(event)); }
  /// The view is to be published again.
  void MarkChanged() { changed_ = true; }

  // --- sending

  /// True if a further transaction may leave now.
  bool MaySend() const;
  /// True while sending and deciding rest for the sake of submissions (Pace::Resting).
  bool Resting() const { return pace_.Resting(!tx_.waiters.empty()); }
  /// True if decisions may be taken: a further commit has room for their rows, and they would not
  /// be based on a configuration that is not durable.
  bool MayDecide() const;
  /// How many more rows the open transaction may take.
  std::size_t Room() const;
  /// Sends the open transaction with the amounts of `planned`, if it has rows, or if the lead is to
  /// be confirmed; a transaction of promises alone is attached to the last one on its way.
  void Send(const core::Usage& planned);
  /// An empty commit, if the store has not been heard of for so long; true if one was sent.
  bool SendHeartbeat();
  Monotonic HeartbeatDue() const;
  void Complete(CommitDone done);
  /// The store has answered a write of another kind that was sent at `sent`. `confirms`: it has
  /// proven by it that this daemon leads.
  void NoteAnswer(Monotonic sent, bool confirms);
  /// A write has failed: see above.
  void Fail(const Error& error);
  bool failed() const { return failed_; }
  /// Why, in a sentence; "" if none has.
  const std::string& failure() const { return failure_; }
  /// True while nothing is on its way to the store and there is nothing to send.
  bool Settled() const { return !pace_.Outstanding() && tx_.Empty(); }
  bool Idle() const { return sent_.empty(); }
  /// True if the newest row of the attempt is not durable.
  bool IsOnItsWay(const DispatchKey& key) const;

  // --- the committed world

  const CommittedState& committed() const { return committed_; }
  /// Shows another reason or count of a job before it is written.
  void Show(const JobPtr& job);
  /// A submission is durable; `seq` is its sequence number.
  void TakeAccepted(const JobPtr& job) { committed_.Put(job); }
  void NoteAccepted(std::int64_t seq);
  /// An ended job leaves memory.
  void Forget(JobId id);
  /// Gives the committed jobs to a view, sealed.
  const CommittedState& Seal();

  // --- recovery

  Epoch epoch() const { return epoch_; }
  void BeginEpoch(Epoch epoch) { epoch_ = epoch; }
  /// Begins with the world as the store has it; whatever was open is dropped.
  void Reset(CommittedState committed, std::int64_t last_seq);
  /// The world is read and recomputed: writes may go on.
  void Resume();
  /// Answers what was decided but never sent.
  void FailWaiting(const Error& error);

  /// What was promised by durable transactions since the last call.
  struct DuePromises {
    std::vector<Order> orders;
    std::vector<std::function<void()>> answers;
    std::vector<Event> news;
  };
  DuePromises TakeDue();
  bool HasAnswers() const { return !due_.answers.empty(); }
  /// True if the view is to be published; then no longer.
  bool TakeChanged() { return std::exchange(changed_, false); }

  Pace& pace() { return pace_; }
  const Pace& pace() const { return pace_; }

 private:
  struct SentCommit {
    Transaction transaction;
    Monotonic sent;
    bool heartbeat = false;  // it has no rows: only whether it could be written is of interest
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
  bool changed_ = false;
};

template <class T>
void CommitPipeline::AnswerOutcome(Callback<T> done, const Result<T>& outcome) {
  if (!outcome.ok())
    return Answer([done = std::move(done), error = outcome.error()] { done(error); });
  AnswerAfterCommit([done = std::move(done), value = *outcome](const Error* error) {
    if (error != nullptr) {
      done(*error);
    } else {
      done(value);
    }
  });
}

}  // namespace muster
