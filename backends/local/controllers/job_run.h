// One batch/v1 Job, by itself or as a child of a JobSet or RayJob: completions, retries, policies.
// Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backends/local/controllers/controller.h"
#include "schedd/model/job_end.h"

namespace muster::local {

/// The Job to run.
struct JobRun {
  const json::object* spec = nullptr;  // JobSpec
  std::string name;                    // also the owner of its pods
  std::string pod_set;
  std::int32_t epoch = 0;
  WallTime started;
  std::function<void(PodWish*)> decorate;  // the parent's additions; may be empty
};

enum class JobEnd { kActive, kComplete, kFailed };

struct JobProgress {
  JobEnd end = JobEnd::kActive;
  std::string end_reason;  // as the Job's condition names it: BackoffLimitExceeded, ...
  std::string message;
  std::vector<PodWish> start;
  std::vector<std::string> stop;
  WallTime wake_at;
  std::int32_t expected = 0;  // pods that should be active or done now
  std::int32_t running = 0, succeeded = 0, failed = 0;
  std::int32_t reclaimable = 0;  // of the pods at once, those that will not run any more
  /// True while enough pods run or have succeeded.
  bool ready() const { return running + succeeded >= expected; }
};

JobProgress StepJob(const ControllerInput& input, const JobRun& run);
/// How many pods a Job runs at once: parallelism, or its completions if they are fewer.
std::int32_t PodsAtOnce(const json::object& job_spec);
/// "0,2-4" -> 0 2 3 4; what is malformed is skipped.
std::vector<std::int32_t> ParseIndexes(const std::string& text);
/// Which rule of podFailurePolicy a failed pod meets, -1 for none; rules in order, the first match
/// counts.
int MatchFailureRule(const json::object& spec, const PodRecord& pod);

}  // namespace muster::local
