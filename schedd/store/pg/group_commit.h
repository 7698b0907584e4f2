// GroupCommitter: the store's one writing thread. While one transaction is being made durable the
// next group gathers; nothing is answered before its commit.
//
// Thread-safe. Callbacks run on the writing thread, in call order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "schedd/base/bounded_queue.h"
#include "schedd/base/clock.h"
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
  /// What it wants written; empty: it is no write and `Answer` does its work.
  virtual std::vector<WriteUnit> Units() const = 0;
  /// Takes the outcome of its units and calls back.
  virtual void Answer(std::span<WriteUnit> units) = 0;
  /// Not taken: the queue is full or closed.
  virtual void Refuse(Error error) = 0;
};

class GroupCommitter {
 public:
  /// `clock` and `metrics` may be null together: nothing is measured then. Both must outlive this.
  GroupCommitter(std::string url, std::int64_t resolve_ms, const Clock* clock, Metrics* metrics);
  /// Writes what was taken, then ends.
  ~GroupCommitter();

  void Post(std::unique_ptr<WriteCall> call);
  /// Waits its turn behind what was posted before.
  Result<Lease> Lead(const std::string& holder, std::chrono::milliseconds wait);

 private:
  using Calls = std::deque<std::unique_ptr<WriteCall>>;
  void Run();
  /// Waits a moment for company if that has paid lately (gather.h).
  void GatherMore(Calls* calls);
  static std::size_t RowsOf(const Calls& calls);
  /// Takes calls of one epoch off the front, up to limits::kGroupCommitRows units, and writes them.
  void WriteFront(Calls* calls);

  WriteSession session_;
  const Clock* const clock_;
  Histogram* commit_seconds_ = nullptr;
  Histogram* commit_rows_ = nullptr;
  BoundedQueue<std::unique_ptr<WriteCall>> queue_;
  Gather gather_;
  std::stop_source stop_;
  std::thread thread_;
};

}  // namespace muster::pg
