// Explained: the answer to `muster explain`: what schedd/core says of a job, and an estimate of its
// start. explain_json.h shows it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedd/core/explain/explain.h"

namespace muster::api {

/// By when a waiting job starts, if everybody keeps to the limits declared.
struct StartEstimate {
  bool asked = false;                 // only jobs that wait are asked about
  std::optional<WallTime> latest;     // an upper bound under `assumptions`; nullopt: unknown
  std::string text;                   // one sentence: the bound, or why there is none
  std::vector<JobPtr> without_limit;  // jobs it depends on that declare none; the first few
  std::vector<std::string> assumptions;
};

struct Explained {
  core::Explanation why;
  StartEstimate start;
  WallTime now;
};

}  // namespace muster::api
