// The parts of a placement: each job that it governs, and each member that has its configuration
// objects. For a part and a condition of the placement these functions say how far the part has
// come (rule P19). Pure.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "schedd/model/job.h"
#include "schedd/model/placement.h"
#include "schedd/model/work.h"

namespace muster::api {

/// A condition's status, in the order from good to bad: the worst of several is their maximum.
enum class Verdict : std::uint8_t { kTrue, kUnknown, kFalse };

/// The conditions of a placement in their order. Under ReportDiff kStepDiff stands for kStepApplied
/// and kStepAvailable.
enum Step : std::size_t {
  kStepScheduled,
  kStepRollout,
  kStepOverridden,
  kStepWork,
  kStepApplied,
  kStepAvailable,
  kStepDiff,
  kStepCount
};

/// How far a job has come, by its record.
enum class JobStage : std::uint8_t {
  kWaiting,      // it waits for quota or a gate
  kUnfulfilled,  // no member can take it
  kReserved,     // a member is chosen; its admission checks are not ready
  kSent,         // it was sent to the member, which has not reported on it yet
  kRefused,      // the member refused it for good
  kStarting,     // its object is on the member
  kAvailable,    // it runs, or has run
};
JobStage JobStageOf(const JobRecord& job);

/// One condition of one member's work.
struct WorkStep {
  Verdict verdict = Verdict::kTrue;
  WallTime since;
  const char* reason = nullptr;  // null: the usual reason of the condition
  std::string message;           // the sentence of the member's own condition
  // The end of the sentence of the placement's condition; "": nothing to add.
  std::string because;
};
/// All conditions of one member's work.
struct WorkProgress {
  std::string cluster;
  std::array<WorkStep, kStepCount> steps;
};

/// A job, or the work of a member: exactly one of the pointers is set.
struct Part {
  JobPtr job;
  JobStage stage = JobStage::kWaiting;  // of `job`
  std::shared_ptr<const WorkProgress> work;
};

/// "" if the part has no member yet.
const std::string& ClusterOf(const Part& part);
Verdict VerdictOf(const Part& part, Step step);
WallTime SinceOf(const Part& part, Step step);
/// "job ml/train" or "cluster east".
std::string MentionOf(const Part& part);
/// The end of the sentence of the placement's condition; "" if there is nothing to add.
const std::string& BecauseOf(const Part& part, Step step);
/// The sentence of the condition of the part's own member.
std::string MessageOf(const Part& part, Step step);
/// Null if the reason is the usual one of the condition.
const char* ReasonOf(const Part& part, Step step);

}  // namespace muster::api
