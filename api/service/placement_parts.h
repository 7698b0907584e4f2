// Parts of a placement: each job that it governs, and each member that has its configuration
// objects. A part tells how far it has come, condition by condition (rule P19). Pure.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "schedd/model/job.h"
#include "schedd/model/placement.h"
#include "schedd/model/work.h"

namespace muster::api {

enum class Verdict : std::uint8_t { kTrue, kUnknown, kFalse };  // the worse, the larger

/// Conditions in their order. Under ReportDiff the last one stands for the two before it.
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

/// How far a job has come, as its record tells.
enum class JobStage : std::uint8_t {
  kWaiting,      // for quota or a gate
  kUnfulfilled,  // no member takes it
  kReserved,     // a member is chosen; its admission checks are not ready
  kSent,         // to the member, which has not told of it yet
  kRefused,      // by the member, for good
  kStarting,     // its object is there
  kAvailable,    // runs, or has run
};
JobStage JobStageOf(const JobRecord& job);

/// One condition of one member's work.
struct WorkStep {
  Verdict verdict = Verdict::kTrue;
  WallTime since;
  const char* reason = nullptr;  // null: the usual one of the condition
  std::string message;           // of the member's own condition
  std::string because;           // what the placement's condition adds to its sentence; "": nothing
};
struct WorkProgress {
  std::string cluster;
  std::array<WorkStep, kStepCount> steps;
};

/// A job, or the work of a member.
struct Part {
  JobPtr job;  // null: a work
  JobStage stage = JobStage::kWaiting;
  std::shared_ptr<const WorkProgress> work;  // null: a job
};

/// "" if it has none yet.
const std::string& ClusterOf(const Part& part);
Verdict VerdictOf(const Part& part, Step step);
WallTime SinceOf(const Part& part, Step step);
/// "job ml/train" or "cluster east".
std::string MentionOf(const Part& part);
/// What the placement's condition adds to its sentence; "" if nothing.
const std::string& BecauseOf(const Part& part, Step step);
/// The sentence of the condition of its member.
std::string MessageOf(const Part& part, Step step);
/// Null if it is the usual one of the condition.
const char* ReasonOf(const Part& part, Step step);

}  // namespace muster::api
