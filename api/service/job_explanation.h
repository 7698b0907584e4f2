// JobExplanation: the answer to `muster explain`: the explanation by schedd/core and an estimate of
// the start. explain_json.h writes it as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedd/core/explain/explain.h"

namespace muster::api {

/// When a waiting job starts at the latest, if all jobs keep to their declared time limits.
struct StartEstimate {
  std::string cluster;  // the member on which it starts in the play; "": not known
  bool asked = false;              // false unless the job waits
  std::optional<WallTime> latest;  // an upper bound under `assumptions`; nullopt: unknown
  std::string text;                // one sentence: the bound, or why there is none
  // The first few jobs without a time limit that the start depends on.
  std::vector<JobPtr> without_limit;
  std::vector<std::string> assumptions;
};

struct JobExplanation {
  core::Explanation why;
  StartEstimate start;
  WallTime now;
};

}  // namespace muster::api
