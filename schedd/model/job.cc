#include "schedd/model/job.h"

#include <array>
#include <utility>

namespace muster {
namespace {

constexpr std::array<std::pair<JobState, std::string_view>, 7> kStates = {{
    {JobState::kHeld, "Held"},
    {JobState::kPending, "Pending"},
    {JobState::kAdmitted, "Admitted"},
    {JobState::kRunning, "Running"},
    {JobState::kSucceeded, "Succeeded"},
    {JobState::kFailed, "Failed"},
    {JobState::kCancelled, "Cancelled"},
}};

}  // namespace

bool MayRequeue(const JobRecord& job) { return job.batch == nullptr || job.batch->requeue; }

std::string_view ShapeKindName(ShapeKind kind) {
  switch (kind) {
    case ShapeKind::kJob:
      return "Job";
    case ShapeKind::kJobSet:
      return "JobSet";
    case ShapeKind::kRayJob:
      return "RayJob";
    case ShapeKind::kRayCluster:
      return "RayCluster";
    case ShapeKind::kPyTorchJob:
      return "PyTorchJob";
    case ShapeKind::kLeaderWorkerSet:
      return "LeaderWorkerSet";
    case ShapeKind::kBatchScript:
      return "BatchScript";
    case ShapeKind::kWorkload:
      return "Workload";
  }
  return "";
}

std::string_view JobStateName(JobState state) {
  for (const auto& [value, name] : kStates) {
    if (value == state) return name;
  }
  return "";
}

std::optional<JobState> JobStateOf(std::string_view name) {
  for (const auto& [value, text] : kStates) {
    if (text == name) return value;
  }
  return std::nullopt;
}

}  // namespace muster
