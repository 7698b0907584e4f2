// GroupCommitter: the one thread that writes to the store. Calls that arrive while a transaction is
// being made durable form the next group. A group of new jobs may be sent before the answer of the
// group before it has come, so that the server never idles. No call is answered before its commit.
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

/// One call of Accept, Commit or Lead on its way through the writing thread.
class WriteCall {
 public:
  virtual ~WriteCall() = default;
  virtual Epoch epoch() const = 0;
  /// How many writes the call brings. Its audit rows do not count: they come with any call, and the
  /// policies compare the writes that wait with those under way.
  virtual std::size_t rows() const = 0;
  /// True if the call brings new jobs and nothing else.
  virtual bool only_jobs() const = 0;
  /// The items to be written. Empty for a call that is no write (Lead): Answer does its work.
  virtual std::vector<WriteUnit> Units() const = 0;
  /// Takes the outcomes of the call's units and calls back.
  virtual void Answer(std::span<WriteUnit> units) = 0;
  /// The call was not taken: the queue is full or closed.
  virtual void Refuse(Error error) = 0;
};

class GroupCommitter {
 public:
  /// `clock` and `metrics` may be null together: then nothing is measured. `health` and `board`
  /// (WriteSession) may be null. All must outlive this object.
  GroupCommitter(std::string url, std::int64_t resolve_ms, Watchdog& watchdog, StoreHealth* health,
                 LeaseBoard* board, const Clock* clock, Metrics* metrics);
  /// Writes the calls that are queued, as far as the database allows, gives the lease up, then ends
  /// the thread.
  ~GroupCommitter();

  void Post(std::unique_ptr<WriteCall> call);
  /// Runs in its turn behind the calls posted before; see Store::Lead.
  Result<Lease> Lead(const std::string& holder, std::chrono::milliseconds wait);

 private:
  using Calls = std::deque<std::unique_ptr<WriteCall>>;
  /// Calls that are written together. `ends[i]` is where the units of `calls[i]` end in `units`.
  struct Group {
    std::vector<std::unique_ptr<WriteCall>> calls;
    std::vector<std::size_t> ends;
    std::vector<WriteUnit> units;
    std::size_t rows = 0;  // the sum of the calls' rows()
    Monotonic start{};
  };

  void Run();
  /// Waits for a call. Meanwhile it notices when the database session ends, and keeps the lease of
  /// a daemon that recovers.
  void Idle();
  int UntilKeepLease() const;
  void Wake();
  /// Waits a moment for more calls if such waits have paid lately (gather.h).
  void GatherMore(Calls* calls);
  static std::size_t RowsOf(const Calls& calls);
  /// How many rows of new jobs stand at the front, as far as they could go into one group.
  static std::size_t JobRowsInFront(const Calls& calls);
  /// True if the calls at the front may be sent behind the group under way.
  bool MayFollow(const Calls& calls) const;
  /// Takes calls of one epoch off the front, up to limits::kGroupCommitRows units, and sends or
  /// writes them.
  void WriteFront(Calls* calls);
  /// Finishes the oldest group if its answer is there; otherwise waits for that answer or for more
  /// calls.
  void AwaitAnswer(const Calls& calls);
  /// Finishes the oldest group under way. If it has failed, the groups behind it are finished too.
  void FinishOldest();
  void AnswerCalls(Group group);

  Watchdog& watchdog_;
  WriteSession session_;
  const Clock* const clock_;
  Histogram* commit_seconds_ = nullptr;
  Histogram* commit_rows_ = nullptr;
  BoundedQueue<std::unique_ptr<WriteCall>> queue_;
  GatherPolicy gather_;
  FollowPolicy follow_;
  std::deque<Group> under_way_;  // sent and not finished, the oldest first
  const int wake_fd_;            // an eventfd that wakes Idle and AwaitAnswer
  // The writing thread sleeps until so many more rows are posted; 0 or less: posting wakes nobody.
  std::atomic<std::int64_t> rows_to_wake_{0};
  std::stop_source stop_;
  std::thread thread_;
};

}  // namespace muster::pg
