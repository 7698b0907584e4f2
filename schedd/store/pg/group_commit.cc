#include "schedd/store/pg/group_commit.h"

#include <future>
#include <iterator>
#include <utility>

#include "schedd/base/limits.h"

namespace muster::pg {
namespace {

class LeadCall final : public WriteCall {
 public:
  LeadCall(WriteSession& session, std::string holder, std::chrono::milliseconds wait)
      : session_(session), holder_(std::move(holder)), wait_(wait) {}
  std::future<Result<Lease>> lease() { return lease_.get_future(); }

  Epoch epoch() const override { return {}; }
  std::size_t rows() const override { return 0; }
  std::vector<WriteUnit> Units() const override { return {}; }
  void Answer(std::span<WriteUnit>) override { lease_.set_value(session_.Lead(holder_, wait_)); }
  void Refuse(Error error) override { lease_.set_value(std::move(error)); }

 private:
  WriteSession& session_;
  const std::string holder_;
  const std::chrono::milliseconds wait_;
  std::promise<Result<Lease>> lease_;
};

// Calls are bounded by what the engine admits; this only stops a caller gone wrong.
constexpr std::size_t kQueuedCalls = 2 * limits::kInflightSubmissions;

}  // namespace

GroupCommitter::GroupCommitter(std::string url, std::int64_t resolve_ms, const Clock* clock,
                               Metrics* metrics)
    : session_(std::move(url), resolve_ms), clock_(clock), queue_(kQueuedCalls) {
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
  queue_.Close();
  thread_.join();
}

void GroupCommitter::Post(std::unique_ptr<WriteCall> call) {
  if (!queue_.Push(std::move(call))) {
    call->Refuse(Overloaded("the database's writer is busy or stopping", 1000));
  }
}

Result<Lease> GroupCommitter::Lead(const std::string& holder, std::chrono::milliseconds wait) {
  auto call = std::make_unique<LeadCall>(session_, holder, wait);
  auto lease = call->lease();
  Post(std::move(call));
  return lease.get();
}

void GroupCommitter::Run() {
  Calls calls;
  for (;;) {
    if (calls.empty()) {
      if (!queue_.PopAll(&calls, std::chrono::hours(1)) && stop_.stop_requested()) return;
    } else {
      Calls more;  // what arrived during the last commit joins the group
      queue_.PopAll(&more, std::chrono::nanoseconds(0));
      std::move(more.begin(), more.end(), std::back_inserter(calls));
    }
    if (calls.empty()) continue;
    GatherMore(&calls);
    WriteFront(&calls);
  }
}

std::size_t GroupCommitter::RowsOf(const Calls& calls) {
  std::size_t rows = 0;
  for (const auto& call : calls) rows += call->rows();
  return rows;
}

void GroupCommitter::GatherMore(Calls* calls) {
  if (clock_ == nullptr) return;
  const std::size_t rows = RowsOf(*calls);
  const std::size_t target = gather_.Target(rows);
  std::size_t now = rows;
  const Monotonic deadline = clock_->Now() + Gather::kLongestWaitNs;
  while (now < target && !stop_.stop_requested()) {
    const std::int64_t left_ns = deadline - clock_->Now();
    Calls more;
    if (left_ns <= 0 || !queue_.PopAll(&more, std::chrono::nanoseconds(left_ns))) break;
    now += RowsOf(more);
    std::move(more.begin(), more.end(), std::back_inserter(*calls));
  }
  gather_.Sent(rows, target, now);
}

void GroupCommitter::WriteFront(Calls* calls) {
  std::vector<std::unique_ptr<WriteCall>> taken;
  std::vector<std::size_t> ends;  // of each call's units
  std::vector<WriteUnit> units;
  const Epoch epoch = calls->front()->epoch();
  while (!calls->empty() && calls->front()->epoch() == epoch &&
         units.size() < limits::kGroupCommitRows) {
    std::vector<WriteUnit> more = calls->front()->Units();
    std::move(more.begin(), more.end(), std::back_inserter(units));
    ends.push_back(units.size());
    taken.push_back(std::move(calls->front()));
    calls->pop_front();
  }
  if (!units.empty()) {
    const Monotonic start = clock_ == nullptr ? Monotonic{} : clock_->Now();
    session_.Write(epoch, units, stop_.get_token());
    if (commit_seconds_ != nullptr) {
      commit_seconds_->Observe(static_cast<double>(clock_->Now() - start) / kNanosPerSecond);
      commit_rows_->Observe(static_cast<double>(units.size()));
    }
  }
  std::size_t begin = 0;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    taken[i]->Answer(std::span(units).subspan(begin, ends[i] - begin));
    begin = ends[i];
  }
}

}  // namespace muster::pg
