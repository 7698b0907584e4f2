// Lists of jobs in another order than that of their numbers, searched and counted, for people who
// look at a table. All jobs that match are looked at, at most limits::kPageItemsMax of them.
//
// Thread-safe, as SchedulerService is.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/service/list_jobs.h"
#include "api/service/scheduler_service.h"

namespace muster::api {

/// What a table can be ordered by and counted by.
enum class JobColumn : std::uint8_t {
  kId,
  kName,
  kNamespace,
  kUser,
  kQueue,
  kClusterQueue,
  kKind,
  kState,
  kReason,
  kCluster,
  kPriority,
  kSubmitTime,
  kStartTime,
  kEndTime,
};
/// The column of a member of the job view: "submitTime"; nullopt for others.
std::optional<JobColumn> JobColumnOf(std::string_view name);
/// Columns whose values are few enough to count jobs by them: all but id, priority and times.
bool CanCountBy(JobColumn column);

/// True if the text is in the job's name, or names the job: its number, the number of its array, a
/// task of it ("7_3"), the beginning of its uid (8 characters or more), one of its pods or hosts.
bool MatchesText(const JobRecord& job, std::string_view text);

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
/// One piece of the table. Equal values are in the order of numbers. Errors: those of ListJobs;
/// kInvalidArgument if more than limits::kPageItemsMax jobs match the filter.
Result<JobTable> TableOfJobs(const SchedulerService& service, const auth::Principal& who,
                             const JobTableAsk& ask);

struct JobCount {
  std::size_t count = 0;
  std::map<JobState, std::size_t> states;
};
/// How many jobs of each value of the column match. Errors: as TableOfJobs.
Result<std::map<std::string, JobCount>> CountJobsBy(const SchedulerService& service,
                                                    const auth::Principal& who,
                                                    const JobFilter& filter,
                                                    const std::string& text, JobColumn column);

}  // namespace muster::api
