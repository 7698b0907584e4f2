// What a caller asks of a list of jobs, and one page of it. SchedulerService::ListJobs answers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedd/model/job.h"

namespace muster::api {

struct JobFilter {
  std::string ns, queue, user;  // "" = any
  // The name of the job's object, or the --job-name of a batch script; "" = any.
  std::string name;
  std::vector<JobState> states;  // empty = any
  std::optional<ShapeKind> shape;
  // Also ended jobs whose object was deleted; /v1 shows them, Kubernetes paths do not.
  bool include_deleted = true;
};

struct JobPage {
  std::vector<JobPtr> items;
  std::string next_page_token;  // "" = the last page
};

/// The token of the page that begins after job `last`.
std::string PageTokenAfter(JobId last);

}  // namespace muster::api
