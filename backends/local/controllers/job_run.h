// StepJob: one batch/v1 Job, by itself or as a child of a JobSet or RayJob: completions, retries,
// policies. Pure.
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
  /// Also the owner of its pods (PodIdentity::owner).
  std::string name;
  std::string pod_set;
  std::int32_t epoch = 0;
  WallTime started;
  /// The parent's additions to each pod; may be empty.
  std::function<void(PodWish*)> decorate;
};

enum class JobEnd { kActive, kComplete, kFailed };

/// The result of a step.
struct JobProgress {
  JobEnd end = JobEnd::kActive;
  std::string end_reason;  // as the Job's condition names it: BackoffLimitExceeded, ...
  std::string message;
  WallTime failed_at;  // by the ends of its pods, or its deadline
  std::vector<PodWish> start;
  std::vector<std::string> stop;
  WallTime wake_at;
  std::int32_t expected = 0;  // pods that should run or have succeeded now
  std::int32_t running = 0, succeeded = 0, failed = 0;
  std::int32_t reclaimable = 0;  // of the pods that run at once, those not needed any more
  /// True if enough pods run or have succeeded.
  bool ready() const { return running + succeeded >= expected; }
};

JobProgress StepJob(const ControllerInput& input, const JobRun& run);
/// How many pods a Job runs at once: parallelism, or its completions if they are fewer.
std::int32_t PodsAtOnce(const json::object& job_spec);

}  // namespace muster::local
