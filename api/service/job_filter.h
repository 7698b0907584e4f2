// What a list of jobs is asked for, and one page of it. Plain values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedd/model/job.h"

namespace muster::api {

struct JobFilter {
  std::string ns, queue, user;   // "" = any
  std::string name;              // "" = any; of its object, or what a batch script was called
  std::vector<JobState> states;  // empty = any
  std::optional<ShapeKind> shape;
  bool include_deleted = true;  // jobs whose object has gone (TTL) still answer on /v1
};

struct JobPage {
  std::vector<JobPtr> items;
  std::string next_page_token;  // "" = the last page
};

/// The token of the page that begins behind `last`.
std::string PageTokenAfter(JobId last);

}  // namespace muster::api
