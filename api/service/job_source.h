// JobSource: the jobs that tables are made of, those in memory and the ended ones of the store, as
// one list by number.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "api/service/ended_jobs.h"
#include "api/service/list_jobs.h"
#include "schedd/world/job_table.h"

namespace muster::api {

/// A plain value; copies share their jobs. Of a job in both the record in memory counts.
struct JobSource {
  muster::JobTable jobs;
  std::shared_ptr<const EndedJobs::List> ended;  // null: none

  /// Null if absent.
  JobPtr Find(JobId id) const;
  /// All jobs by number. The references are valid as long as the source.
  void ForEach(const std::function<void(const JobPtr&)>& visit) const;
};

/// The sources of tables. Thread-safe.
class JobSources {
 public:
  /// `read` is Store::ReadJobs.
  explicit JobSources(EndedJobs::ReadJobs read) : ended_(std::move(read)) {}

  /// All jobs that may pass the filter, with the jobs in memory of the view. Nullopt if the store
  /// is better asked for the table itself: the filter names few jobs, or more have ended than are
  /// kept. Blocks on the store at times; errors are the store's.
  Result<std::optional<JobSource>> Of(const JobFilter& filter, const WorldView& view);
  /// Drops the ended jobs that are kept.
  void Forget() { ended_.Forget(); }

 private:
  EndedJobs ended_;
};

/// Calls `visit` with the records of each job that differ between two sources; null for a source
/// that has none. In the order of numbers.
void ForEachChange(const JobSource& before, const JobSource& after,
                   const std::function<void(const JobPtr&, const JobPtr&)>& visit);

}  // namespace muster::api
