// The loop of the writing thread.
//
// Each round of Run takes the calls that have arrived. With nothing under way it may wait a moment
// for more (gather.h), then writes the calls at the front as one group. With a group under way it
// either sends the next group behind it or waits for the answer.
//
// Only groups of new jobs are sent behind one another, at most two at a time and on one session, so
// they commit in order. Each group pays a flush of its own to disk, so on a slow disk fewer and
// larger groups are faster: follow.h measures which way writes more rows a second. Any other call,
// a plan above all, is sent when nothing is under way and is finished before the next one: after a
// lost answer the database can say of each new job whether it exists, but of a plan only whether it
// was the last group of its epoch.
//
// A thread that posts a call wakes the writer only when enough rows are queued for a group, so that
// a burst of submissions does not cost one wake-up each.
#include "schedd/store/pg/group_commit.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <iterator>
#include <utility>

#include "schedd/base/check.h"
#include "schedd/base/limits.h"
#include "schedd/base/limits_lease.h"
#include "schedd/store/pg/server_process.h"

namespace muster::pg {
namespace {

// Lead as a call: it has no units, and its answer is to lead, in call order.
class LeadCall final : public WriteCall {
 public:
  LeadCall(WriteSession& session, std::string holder, std::chrono::milliseconds wait)
      : session_(session), holder_(std::move(holder)), wait_(wait) {}
  std::future<Result<Lease>> lease() { return lease_.get_future(); }

  Epoch epoch() const override { return {}; }
  std::size_t rows() const override { return 0; }
  bool only_jobs() const override { return false; }
  std::vector<WriteUnit> Units() const override { return {}; }
  void Answer(std::span<WriteUnit>) override { lease_.set_value(session_.Lead(holder_, wait_)); }
  void Refuse(Error error) override { lease_.set_value(std::move(error)); }

 private:
  WriteSession& session_;
  const std::string holder_;
  const std::chrono::milliseconds wait_;
  std::promise<Result<Lease>> lease_;
};

// The engine bounds the calls by what it admits; this bound only stops a caller with a bug.
constexpr std::size_t kQueuedCalls = 2 * limits::kInflightSubmissions;

// One group that the server works on, and one that it finds when it has finished the first.
constexpr std::size_t kGroupsUnderWay = 2;

}  // namespace

GroupCommitter::GroupCommitter(std::string url, std::int64_t resolve_ms, Watchdog& watchdog,
                               StoreHealth* health, LeaseBoard* board, const Clock* clock,
                               Metrics* metrics)
    : watchdog_(watchdog),
      session_(std::move(url), resolve_ms, watchdog, health, board),
      clock_(clock),
      queue_(kQueuedCalls),
      wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  MUSTER_CHECK(wake_fd_ >= 0);
  if (clock != nullptr && metrics != nullptr) {
    commit_seconds_ = &metrics->GetHistogram(
        "muster_store_commit_seconds", "Time from sending a group of writes to its durable answer.",
        {0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5});
    commit_rows_ =
        &metrics->GetHistogram("muster_group_commit_rows", "Writes made durable by one group.",
                               {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024});
  }
  thread_ = std::thread([this] { Run(); });
}

GroupCommitter::~GroupCommitter() {
  stop_.request_stop();
  watchdog_.Stop(std::chrono::milliseconds(limits::kStopDatabaseMs));
  queue_.Close();
  Wake();
  thread_.join();
  close(wake_fd_);
}

// The call that brings the number of queued rows to the threshold wakes the writer; calls before
// and after it do not.
void GroupCommitter::Post(std::unique_ptr<WriteCall> call) {
  const std::int64_t rows = std::max<std::int64_t>(static_cast<std::int64_t>(call->rows()), 1);
  if (!queue_.Push(std::move(call))) {
    call->Refuse(Overloaded("the database's writer is busy or stopping", 1000));
    return;
  }
  const std::int64_t left = rows_to_wake_.fetch_sub(rows);
  if (left > 0 && left <= rows) Wake();
}

void GroupCommitter::Wake() {
  const std::uint64_t one = 1;
  (void)!write(wake_fd_, &one, sizeof one);  // fails only if the counter is full: that wakes too
}

// How long the thread may sleep until the lease has to be kept, in milliseconds; -1: for ever.
int GroupCommitter::UntilKeepLease() const {
  const auto at = session_.KeepLeaseAt();
  if (!at) return -1;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(*at - StoreHealth::Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, limits::kLeaseTtlMaxMs));
}

// An idle session is listened to, so that /readyz knows of a lost session without a write.
void GroupCommitter::Idle() {
  rows_to_wake_ = 1;
  if (queue_.size() == 0 && !stop_.stop_requested()) {
    const int sleep_ms = UntilKeepLease();
    const int woken = sleep_ms == 0 ? -1 : WaitReadable({wake_fd_, session_.socket()}, sleep_ms);
    if (sleep_ms >= 0 && UntilKeepLease() == 0) session_.KeepLease();
    if (woken == wake_fd_) {
      std::uint64_t count = 0;
      (void)!read(wake_fd_, &count, sizeof count);
    } else if (woken >= 0) {
      session_.Listen();
    }
  }
  rows_to_wake_ = 0;
}

Result<Lease> GroupCommitter::Lead(const std::string& holder, std::chrono::milliseconds wait) {
  auto call = std::make_unique<LeadCall>(session_, holder, wait);
  auto lease = call->lease();
  Post(std::move(call));
  return lease.get();
}

// One round: take what has arrived, then either start a group or deal with the one under way.
void GroupCommitter::Run() {
  Calls calls;
  for (;;) {
    if (calls.empty() && under_way_.empty()) {
      Idle();
      if (!queue_.PopAll(&calls, std::chrono::nanoseconds(0)) && stop_.stop_requested())
        return session_.ReleaseLease();
    } else {
      Calls more;  // calls that arrived during the last commit join the group
      queue_.PopAll(&more, std::chrono::nanoseconds(0));
      std::move(more.begin(), more.end(), std::back_inserter(calls));
    }
    if (!under_way_.empty()) {
      if (MayFollow(calls)) {
        WriteFront(&calls);
      } else {
        AwaitAnswer(calls);
      }
    } else if (!calls.empty()) {
      GatherMore(&calls);
      WriteFront(&calls);
    }
  }
}

std::size_t GroupCommitter::RowsOf(const Calls& calls) {
  std::size_t rows = 0;
  for (const auto& call : calls) rows += call->rows();
  return rows;
}

// Waits at most kLongestWaitNs until the target number of rows is there, then reports to the policy
// how many came.
void GroupCommitter::GatherMore(Calls* calls) {
  if (clock_ == nullptr) return;
  const std::size_t rows = RowsOf(*calls);
  const std::size_t target = gather_.Target(rows);
  std::size_t now = rows;
  const Monotonic deadline = clock_->Now() + GatherPolicy::kLongestWaitNs;
  while (now < target && !stop_.stop_requested()) {
    const std::int64_t left_ns = deadline - clock_->Now();
    Calls more;
    if (left_ns <= 0 || !queue_.PopAll(&more, std::chrono::nanoseconds(left_ns))) break;
    now += RowsOf(more);
    std::move(more.begin(), more.end(), std::back_inserter(*calls));
  }
  gather_.Sent(rows, target, now);
}

std::size_t GroupCommitter::JobRowsInFront(const Calls& calls) {
  std::size_t rows = 0;
  for (const auto& call : calls) {
    if (!call->only_jobs() || call->epoch() != calls.front()->epoch()) break;
    rows += call->rows();
  }
  return rows;
}

bool GroupCommitter::MayFollow(const Calls& calls) const {
  return follow_.pays() && under_way_.size() < kGroupsUnderWay &&
         JobRowsInFront(calls) >= GatherPolicy::RowsToFollow(under_way_.front().rows);
}

// Sends the group without waiting if it has only new jobs and the session can take it (StartJobs).
// Otherwise the groups under way are finished first, and this one is written and finished at once.
void GroupCommitter::WriteFront(Calls* calls) {
  Group group;
  const Epoch epoch = calls->front()->epoch();
  bool only_jobs = true;
  while (!calls->empty() && calls->front()->epoch() == epoch &&
         group.units.size() < limits::kGroupCommitRows) {
    if (!calls->front()->only_jobs()) {
      if (!under_way_.empty()) break;
      only_jobs = false;
    }
    std::vector<WriteUnit> more = calls->front()->Units();
    std::move(more.begin(), more.end(), std::back_inserter(group.units));
    group.ends.push_back(group.units.size());
    group.rows += calls->front()->rows();
    group.calls.push_back(std::move(calls->front()));
    calls->pop_front();
  }
  if (clock_ != nullptr) group.start = clock_->Now();
  if (only_jobs && !group.units.empty() && session_.StartJobs(epoch, group.units)) {
    under_way_.push_back(std::move(group));
    return;
  }
  while (!under_way_.empty()) FinishOldest();
  if (!group.units.empty()) session_.Write(epoch, group.units, stop_.get_token());
  AnswerCalls(std::move(group));
}

void GroupCommitter::AwaitAnswer(const Calls& calls) {
  if (session_.Answered()) return FinishOldest();
  // A call that is no submission waits until nothing is under way, and so do the calls behind it.
  const std::size_t waiting = JobRowsInFront(calls);
  if (follow_.pays() && under_way_.size() < kGroupsUnderWay && (calls.empty() || waiting > 0)) {
    rows_to_wake_ =
        static_cast<std::int64_t>(GatherPolicy::RowsToFollow(under_way_.front().rows) - waiting);
  }
  if (queue_.size() == 0 && WaitReadable({wake_fd_, session_.socket()}, -1) == wake_fd_) {
    std::uint64_t count = 0;
    (void)!read(wake_fd_, &count, sizeof count);
  }
  rows_to_wake_ = 0;
}

// The session may finish more than one group, so this answers until both agree on what is under
// way.
void GroupCommitter::FinishOldest() {
  session_.FinishOldest(stop_.get_token());
  while (under_way_.size() > session_.under_way()) {
    Group group = std::move(under_way_.front());
    under_way_.pop_front();
    AnswerCalls(std::move(group));
  }
}

void GroupCommitter::AnswerCalls(Group group) {
  if (clock_ != nullptr && !group.units.empty()) {
    const Monotonic now = clock_->Now();
    follow_.Answered(group.rows, now);
    commit_seconds_->Observe(static_cast<double>(now - group.start) / kNanosPerSecond);
    commit_rows_->Observe(static_cast<double>(group.rows));
  }
  std::size_t begin = 0;
  for (std::size_t i = 0; i < group.calls.size(); ++i) {
    group.calls[i]->Answer(std::span(group.units).subspan(begin, group.ends[i] - begin));
    begin = group.ends[i];
  }
}

}  // namespace muster::pg
