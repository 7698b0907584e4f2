// KeptTable: the jobs of one table in its order, which follows the jobs as they change. What a
// reading costs is what has changed since the one before, not the number of jobs.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "api/service/job_columns.h"
#include "api/service/job_filter.h"
#include "api/service/job_rights.h"
#include "api/service/job_source.h"

namespace muster::api {

/// Which jobs a table has, and by what they are ordered or counted.
struct TableKey {
  JobFilter filter;
  VisibilityPtr seen;  // null: all are
  std::string text;    // MatchesText; "" = any
  JobColumn column = JobColumn::kId;
  bool counted = false;

  /// True if the job is in the table.
  bool Takes(const JobRecord& job) const;
  /// True if the other is the same but for the time since which ended jobs are wanted.
  bool IsLike(const TableKey& other) const;
};

/// Jobs of one value of a column.
struct JobCount {
  std::size_t count = 0;
  std::map<JobState, std::size_t> states;
};
using JobCounts = std::map<std::string, JobCount>;

/// Not thread-safe. May be moved, not copied.
class KeptTable {
 public:
  explicit KeptTable(TableKey key) : key_(std::move(key)) {}
  KeptTable(KeptTable&&) = default;
  KeptTable& operator=(KeptTable&&) = default;

  const TableKey& key() const { return key_; }
  /// Makes the table that of `source`, with the ended jobs since then: the filter's time or a later
  /// one.
  void Follow(JobSource source, WallTime ended_since);
  /// The number of jobs, also of one that counts.
  std::size_t size() const { return size_; }
  /// The job at a place of the order; places below size().
  JobPtr At(std::size_t place) const { return source_.Find(rows_[place]->id); }
  const JobCounts& counts() const { return counts_; }

 private:
  using Rows = std::vector<const JobRecord*>;
  bool Before(const JobRecord* a, const JobRecord* b) const;
  void Make();
  void DropEndedBefore(WallTime time);
  void Take(Rows gone, Rows come);

  TableKey key_;
  bool made_ = false;
  // Keeps the records of `rows_`.
  JobSource source_;
  Rows rows_;  // ordered by the column's value, then by number
  JobCounts counts_;
  std::size_t size_ = 0;
};

/// Counts one job more (1) or less (-1); values without jobs are not in the counts.
void CountJob(const JobRecord& job, JobColumn column, int step, JobCounts* counts);

}  // namespace muster::api
