// Lists of jobs in another order than that of their numbers, searched and counted, for people who
// look at a table. A table that is asked for again soon is kept up to date (kept_tables.h), so that
// an open page costs what changes; the first time all jobs are looked at, at most
// limits::kPageItemsMax of them.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "api/service/job_source.h"
#include "api/service/kept_tables.h"
#include "api/service/scheduler_service.h"

namespace muster::api {

struct JobTableAsk {
  JobFilter filter;
  std::string text;  // MatchesText; "" = any
  JobColumn order = JobColumn::kId;
  bool descending = false;
  std::size_t offset = 0, limit = 0;
};
struct JobTable {
  std::vector<JobPtr> items;
  std::size_t total = 0;  // of all that match
};

/// Thread-safe.
class JobTables {
 public:
  /// `service` must outlive it.
  explicit JobTables(const SchedulerService& service);

  /// One piece of a table. Equal values are in the order of numbers. Blocking. Errors: those of
  /// SchedulerService::ListJobs; kInvalidArgument if more than limits::kPageItemsMax jobs match.
  Result<JobTable> Piece(const auth::Principal& who, const JobTableAsk& ask);
  /// How many jobs of each value of the column match. Blocking. Errors: as Piece.
  Result<JobCounts> CountBy(const auth::Principal& who, const JobFilter& filter,
                            const std::string& text, JobColumn column);
  /// Drops what was kept for tables that nobody has looked at since the last call. False if nothing
  /// is left.
  bool ForgetOld();

 private:
  /// Calls `of_kept` with the kept table or, the first time, `of_jobs` with its jobs by number.
  Status Read(const auth::Principal& who, TableKey key,
              const std::function<void(const KeptTable&)>& of_kept,
              const std::function<void(const std::vector<const JobPtr*>&)>& of_jobs);

  const SchedulerService& service_;
  JobSources sources_;
  KeptTables kept_;
};

}  // namespace muster::api
