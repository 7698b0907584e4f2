// EndedJobs: the ended jobs of a time as the store has them, kept between the readings of a table.
// Without it each page that somebody leaves open would have the database send the same thousands of
// rows every few seconds.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "schedd/base/mutex.h"
#include "schedd/base/result.h"
#include "schedd/base/time.h"
#include "schedd/model/job.h"
#include "schedd/store/store.h"
#include "schedd/world/world_view.h"

namespace muster::api {

/// Thread-safe. At most limits::kEndedJobsKept jobs are kept.
class EndedJobs {
 public:
  using List = std::vector<JobPtr>;  // by number

  using ReadJobs = std::function<Result<List>(const JobQuery& query)>;

  /// `read` is Store::ReadJobs.
  explicit EndedJobs(ReadJobs read) : read_jobs_(std::move(read)) {}

  /// The jobs that ended at `since` or later (unset: all), and maybe some that ended before. With
  /// the jobs of the view they are complete. Null if they are more than are kept. Blocks on the
  /// store; errors are the store's.
  Result<std::shared_ptr<const List>> Since(WallTime since, const WorldView& view);
  /// Drops what is kept; the next question reads it again.
  void Forget();

 private:
  /// Null if they are more than are kept.
  Result<std::shared_ptr<List>> Read(WallTime since) MUSTER_REQUIRES(mutex_);
  Status AddNew() MUSTER_REQUIRES(mutex_);

  const ReadJobs read_jobs_;
  Mutex mutex_;
  std::shared_ptr<const List> list_ MUSTER_GUARDED_BY(mutex_);
  // What the list has, when all of it was read, and the latest end in it.
  WallTime since_ MUSTER_GUARDED_BY(mutex_), read_ MUSTER_GUARDED_BY(mutex_);
  WallTime newest_ MUSTER_GUARDED_BY(mutex_);
  // The ends up to this event are in it.
  std::int64_t read_seq_ MUSTER_GUARDED_BY(mutex_) = 0;
  // What was too much, and when.
  std::optional<WallTime> too_many_since_ MUSTER_GUARDED_BY(mutex_);
  WallTime too_many_at_ MUSTER_GUARDED_BY(mutex_);
};

}  // namespace muster::api
