// Derives the conditions of a job under a placement from the job's record, and reads those of a
// work from its WorkProgress (placement_works.h). A job has one stage (JobStageOf). Each condition
// before that stage is True, the condition at the stage is Unknown or False. A job's own end is for
// the job to report: a job that has run stays Available.
#include "api/service/placement_parts.h"

#include <initializer_list>

namespace muster::api {
namespace {

WallTime FirstSet(std::initializer_list<WallTime> times) {
  for (const WallTime& time : times)
    if (time.set()) return time;
  return {};
}

// The verdict on the condition `step` for a job at `stage`. Conditions after the first that is not
// True are not shown, so their verdict does not matter.
Verdict JobVerdict(JobStage stage, Step step) {
  const auto is = [&](Step at, JobStage of) { return step == at && stage == of; };
  if (is(kStepScheduled, JobStage::kWaiting) || is(kStepApplied, JobStage::kSent))
    return Verdict::kUnknown;
  const bool failed =
      is(kStepScheduled, JobStage::kUnfulfilled) || is(kStepRollout, JobStage::kReserved) ||
      is(kStepApplied, JobStage::kRefused) || is(kStepAvailable, JobStage::kStarting);
  return failed ? Verdict::kFalse : Verdict::kTrue;
}

// When the job's condition became what it is; the record has no own time for each condition, so the
// nearest time before it is taken.
WallTime JobSince(const JobRecord& job, JobStage stage, Step step) {
  const Condition* quota = FindCondition(job, "QuotaReserved");
  const WallTime reserved = quota != nullptr ? quota->last_transition : WallTime{};
  const WallTime sent = FirstSet({job.admit_time, reserved, job.submit_time});
  if (step == kStepScheduled) {
    // Scheduled since the member was picked; a job that is not scheduled, since it lost its
    // reservation or was submitted.
    const Condition* picked = FindCondition(job, "Placed");
    if (picked != nullptr && picked->status) return picked->last_transition;
    return stage <= JobStage::kUnfulfilled ? FirstSet({reserved, job.submit_time}) : sent;
  }
  if (step <= kStepWork) return sent;
  if (stage == JobStage::kRefused) return FirstSet({job.end_time, sent});
  return stage == JobStage::kAvailable ? FirstSet({job.start_time, job.end_time, sent}) : sent;
}

// Why this member was picked: the sentence of the job's condition Placed, which the scheduler wrote
// when it decided.
std::string PickedMessage(const JobRecord& job) {
  const Condition* placed = FindCondition(job, "Placed");
  if (placed != nullptr && placed->status) return placed->message;
  return "Successfully scheduled resources for placement in \"" + job.cluster + "\"";
}

// KubeFleet's sentence for the condition `step` of a job's member.
std::string JobMessage(const Part& part, Step step) {
  const JobRecord& job = *part.job;
  const Verdict verdict = JobVerdict(part.stage, step);
  const bool good = verdict == Verdict::kTrue;
  switch (step) {
    case kStepScheduled:
      return PickedMessage(job);
    case kStepRollout:
      return good ? "Detected the new changes on the resources and started the rollout process"
                  : "The rollout is being blocked by admission checks";
    case kStepOverridden:
      return "No override rules are configured for the selected resources";
    case kStepWork:
      return "All of the works are synchronized to the latest";
    case kStepApplied:
      if (good) return "All corresponding work objects are applied";
      return "Work object of " + MentionOf(part) +
             (verdict == Verdict::kUnknown ? " is being applied" : " has failed to apply");
    case kStepAvailable:
      if (good) return "All corresponding work objects are available";
      return "Work object of " + MentionOf(part) + " is not yet available: " + job.message;
    case kStepDiff:
    case kStepCount:
      break;
  }
  return "All corresponding work objects have reported diff";
}

}  // namespace

// A pending job is unfulfilled if its reason is that no member can take it; otherwise it waits for
// quota.
JobStage JobStageOf(const JobRecord& job) {
  switch (job.state) {
    case JobState::kHeld:
      return JobStage::kWaiting;
    case JobState::kPending:
      return job.reason == Reason::kNoMemberCluster || job.reason == Reason::kWaitingForCapacity
                 ? JobStage::kUnfulfilled
                 : JobStage::kWaiting;
    case JobState::kReserved:
      return JobStage::kReserved;
    case JobState::kAdmitted: {
      // A report about the job's pods proves that its object is on the member.
      const bool told = job.reason == Reason::kStarting;
      const bool pods = job.ready_pods + job.succeeded_pods + job.failed_pods > 0;
      return told || pods ? JobStage::kStarting : JobStage::kSent;
    }
    case JobState::kFailed:
      return job.reason == Reason::kFailedToStart && !job.start_time.set() ? JobStage::kRefused
                                                                           : JobStage::kAvailable;
    default:
      return JobStage::kAvailable;
  }
}

const std::string& ClusterOf(const Part& part) {
  return part.job != nullptr ? part.job->cluster : part.work->cluster;
}

Verdict VerdictOf(const Part& part, Step step) {
  return part.job != nullptr ? JobVerdict(part.stage, step) : part.work->steps[step].verdict;
}

WallTime SinceOf(const Part& part, Step step) {
  return part.job != nullptr ? JobSince(*part.job, part.stage, step) : part.work->steps[step].since;
}

std::string MentionOf(const Part& part) {
  if (part.job == nullptr) return "cluster " + part.work->cluster;
  return "job " + part.job->ns + "/" + part.job->name;
}

const std::string& BecauseOf(const Part& part, Step step) {
  return part.job != nullptr ? part.job->message : part.work->steps[step].because;
}

std::string MessageOf(const Part& part, Step step) {
  return part.job != nullptr ? JobMessage(part, step) : part.work->steps[step].message;
}

const char* ReasonOf(const Part& part, Step step) {
  return part.job != nullptr ? nullptr : part.work->steps[step].reason;
}

}  // namespace muster::api
