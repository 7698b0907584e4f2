// GroupCommitter: the store's one writing thread. While one transaction is being made durable the
// next group gathers; a group of new jobs is sent before the answer of the one before it has come,
// so that the server goes on at once. Nothing is answered before its commit.
//
// Thread-safe. Callbacks run on the writing thread, in call order.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "schedd/base/bounded_queue.h"
#include "schedd/base/clock.h"
#include "schedd/store/pg/follow.h"
#include "schedd/store/pg/gather.h"
#include "schedd/store/pg/write_session.h"
#include "schedd/telemetry/metrics.h"

namespace muster::pg {

/// One call of Accept, Commit or Lead on its way through the writer.
class WriteCall {
 public:
  virtual ~WriteCall() = default;
  virtual Epoch epoch() const = 0;
  /// How many units it will have.
  virtual std::size_t rows() const = 0;
  /// It brings new jobs and nothing else.
  virtual bool only_jobs() const = 0;
  /// What it wants written; empty: it is no write and `Answer` does its work.
  virtual std::vector<WriteUnit> Units() const = 0;
  /// Takes the outcome of its units and calls back.
  virtual void Answer(std::span<WriteUnit> units) = 0;
  /// Not taken: the queue is full or closed.
  virtual void Refuse(Error error) = 0;
};

class GroupCommitter {
 public:
  /// `clock` and `metrics` may be null together: nothing is measured then. `health` may be null.
  /// All must outlive this.
  GroupCommitter(std::string url, std::int64_t resolve_ms, Watchdog& watchdog, StoreHealth* health,
                 const Clock* clock, Metrics* metrics);
  /// Writes what was taken, as far as the database lets it, then ends.
  ~GroupCommitter();

  void Post(std::unique_ptr<WriteCall> call);
  /// Waits its turn behind what was posted before.
  Result<Lease> Lead(const std::string& holder, std::chrono::milliseconds wait);

 private:
  using Calls = std::deque<std::unique_ptr<WriteCall>>;
  /// Calls whose units are one group, and where each call's units end.
  struct Group {
    std::vector<std::unique_ptr<WriteCall>> calls;
    std::vector<std::size_t> ends;
    std::vector<WriteUnit> units;
    Monotonic start{};
  };

  void Run();
  /// Waits for a call; notices meanwhile when the session ends.
  void Idle();
  void Wake();
  /// Waits a moment for company if that has paid lately (gather.h).
  void GatherMore(Calls* calls);
  static std::size_t RowsOf(const Calls& calls);
  /// How many rows of new jobs are at the front, as far as they could go in one group.
  static std::size_t JobRowsInFront(const Calls& calls);
  /// True if the front may be sent behind the group under way.
  bool MayFollow(const Calls& calls) const;
  /// Takes calls of one epoch off the front, up to limits::kGroupCommitRows units, and sends or
  /// writes them.
  void WriteFront(Calls* calls);
  /// Finishes the oldest group if it has its answer; otherwise waits for that or for company.
  void AwaitAnswer(const Calls& calls);
  void FinishOldest();
  void AnswerCalls(Group group);

  Watchdog& watchdog_;
  WriteSession session_;
  const Clock* const clock_;
  Histogram* commit_seconds_ = nullptr;
  Histogram* commit_rows_ = nullptr;
  BoundedQueue<std::unique_ptr<WriteCall>> queue_;
  Gather gather_;
  Follow follow_;
  std::deque<Group> under_way_;                // the oldest first
  const int wake_fd_;                          // wakes Idle and AwaitAnswer
  std::atomic<std::int64_t> rows_to_wake_{0};  // how many more rows do; not above 0: none
  std::stop_source stop_;
  std::thread thread_;
};

}  // namespace muster::pg
