// What a caller asks of a list of jobs, and one page of it. SchedulerService::ListJobs answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedd/model/job.h"

namespace muster::api {

/// Which right a list asks for, and what it does with jobs that its caller may not list (rule U23).
enum class ListRule : std::uint8_t {
  kFiltered,    // list of the jobs' own kinds; others are left out
  kWhole,       // the same, but refused as a whole, as Kubernetes' API does
  kAccounting,  // list of muster.io/accounting; others are left out
};

struct JobFilter {
  std::string ns, queue, user;  // "" = any
  // The name of the job's object, or the --job-name of a batch script; "" = any.
  std::string name;
  std::vector<JobState> states;  // empty = any
  std::vector<JobId> ids;        // sorted; empty = any
  WallTime ended_since;          // set: of ended jobs only those that ended then or later
  std::optional<ShapeKind> shape;
  JobId array;  // 0 = any; the record of this array's waiting tasks, and its tasks
  // Also ended jobs whose object was deleted; /v1 shows them, Kubernetes paths do not.
  bool include_deleted = true;
  ListRule rule = ListRule::kFiltered;
  // With kWhole: the list is one of Kueue's Workloads, which every job has; else `shape` is set.
  bool as_workloads = false;

  bool operator==(const JobFilter&) const = default;
};

struct JobPage {
  std::vector<JobPtr> items;
  std::string next_page_token;  // "" = the last page
};

/// The token of the page that begins after job `last`.
std::string PageTokenAfter(JobId last);

}  // namespace muster::api
