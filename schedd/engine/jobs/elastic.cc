// Elastic jobs (KEP-77, rule A55): the methods of StandInQueue about slices.
//
// Shrinking: a dispatched job gets a record with a smaller admission at once; the difference is
// given back like any release. Growing: the job waits as a larger slice (a stand-in) that is
// charged with the difference. AdmitSlice puts the larger size and admission into the record in the
// commit that admits the slice, and the old slice goes into the list of finished ones.
//
// The attempt goes on throughout. Its member is told the new size after the commit, by an Ensure
// under the same key, which is idempotent and repeated until the member has answered and after
// every recovery. An eviction ends the slice that waits; the job comes back with the size that was
// wanted last.
//
// Refused: growth in a ClusterQueue with admission checks, elastic jobs that ask for a topology,
// kinds other than Job. The same command may take gates away (KEP-6915).
#include "schedd/dispatch/step/step.h"
#include "schedd/engine/context/object_names.h"
#include "schedd/engine/jobs/refusals.h"
#include "schedd/engine/jobs/stand_in_queue.h"
#include "schedd/lifecycle/admissions.h"
#include "schedd/model/scale_lifecycle.h"
#include "schedd/telemetry/log.h"

namespace muster {
namespace {

constexpr const char* kSizeField = "spec.parallelism";
constexpr const char* kGateCleared = "AdmissionGatedBy cleared, waiting for quota reservation";

// True while a member may have the attempt and nobody asked to end it; any other attempt has
// nothing to resize.
bool MayRun(DispatchState state) {
  return state == DispatchState::kIntent || dispatch::IsRunningOn(state);
}

// Shown as the message of a job that runs and waits to grow.
std::string GrowText(const PendingSlice& slice) {
  return "Waits to grow to " + std::to_string(slice.size.pods()) + " pods" +
         (slice.message.empty() ? "" : ": " + slice.message);
}

// The reason of the waiting slice, in its job's record; null if the record has it already.
changes::Draft SliceWaits(const JobRecord& job, Reason reason, const std::string& message) {
  const ElasticScale* scale = ScaleOf(job);
  if (scale == nullptr || !scale->pending ||
      (scale->pending->reason == reason && scale->pending->message == message)) {
    return nullptr;
  }
  auto draft = std::make_shared<JobRecord>(job);
  ChangeState(draft.get(), [&](AdmissionState* state) {
    state->scale->pending->reason = reason;
    state->scale->pending->message = message;
  });
  draft->message = GrowText(*ScaleOf(*draft)->pending);
  return draft;
}

// `left`: the gates that remain, "" for none. A waiting job without gates shows that it waits for
// its first look.
void ClearGates(JobRecord* job, const std::string& left) {
  ChangeState(job, [&](AdmissionState* state) { state->admission_gated_by = left; });
  if (HoldsQuota(job->state)) return;
  changes::SayWhyItWaits(job);
  if (left.empty() && job->reason == Reason::kPendingEvaluation) {
    job->reason = Reason::kAdmissionGated;
    job->message = kGateCleared;
  }
}

}  // namespace

// A dry run is answered and not audited.
void StandInQueue::Handle(ReplaceJobCommand command) {
  const JobPtr known = jobs_.Find(command.job);
  const std::int64_t before = known == nullptr ? 0 : known->resource_version;
  const auto outcome = Replace(command);
  if (outcome.ok() && !command.dry_run)
    commits_.AddAudit(command.actor, "replace", ObjectName(**outcome), "", before,
                      (*outcome)->resource_version);
  commits_.AnswerOutcome(std::move(command.done), outcome);
}

// All changes of the command go into one draft and one event. Without a difference nothing is
// written. The size that counts as "before" is the one that was wanted last, not the one that runs.
Result<JobPtr> StandInQueue::Replace(const ReplaceJobCommand& command) {
  const JobPtr job = jobs_.Find(command.job);
  if (job == nullptr || IsTerminal(job->state)) {
    return Error{Code::kFailedPrecondition,
                 "job " + std::to_string(command.job.value) + " has already ended"};
  }
  if (job->deletion_requested) return Refused(*job, "is being deleted");
  if (command.expected_resource_version != 0 &&
      command.expected_resource_version != job->resource_version) {
    return Aborted("the object was changed meanwhile: its resourceVersion is " +
                   std::to_string(job->resource_version));
  }
  auto draft = std::make_shared<JobRecord>(*job);
  const char* event = nullptr;
  if (command.admission_gated_by &&
      *command.admission_gated_by != StateOf(*job).admission_gated_by) {
    ClearGates(draft.get(), *command.admission_gated_by);
    event = command.admission_gated_by->empty() ? "JobAdmissionGateCleared" : "JobAdmissionGated";
  }
  const JobSize* wanted = WantedSize(*job);
  const JobSize now = wanted != nullptr ? *wanted : command.submitted;
  if (command.size && *command.size != now) {
    const Status sized = Resize(draft.get(), command);
    if (!sized.ok()) return sized.error();
    event = "JobResized";
  }
  if (event == nullptr || command.dry_run) return job;
  const JobPtr changed = jobs_.Put(job, std::move(draft), event);
  // A slice that waits changes nothing of what runs.
  if (IsDispatched(changed->state) && changed->admission != job->admission)
    ResizeWhenDurable(*changed);
  return changed;
}

// A job without quota, or one that shrinks, changes its size at once. A larger size of a job with
// quota, or any size of one that is being evicted, becomes a waiting slice.
Status StandInQueue::Resize(JobRecord* job, const ReplaceJobCommand& command) {
  if (!job->elastic) {
    return WrongField(kSizeField,
                      "may change only if the job was submitted with annotation "
                      "kueue.x-k8s.io/elastic-job: \"true\": delete it and submit another");
  }
  if (changes::IsCancelling(*job)) return Refused(*job, "is being cancelled");
  const JobSize& size = *command.size;
  const ElasticScale* scale = ScaleOf(*job);
  const JobSize& was = scale != nullptr ? scale->size : command.submitted;
  const bool leaves = changes::IsRequeuing(*job);
  if (!HoldsQuota(job->state) || (size.pods() <= was.pods() && !leaves)) {
    ChangeSize(job, command.submitted, size);
    if (!HoldsQuota(job->state)) {
      changes::SayWhyItWaits(job);
    } else if (job->state == JobState::kRunning) {
      job->message.clear();
    }
    return Done{};
  }
  if (!leaves) {
    if (const Status may = CheckGrowth(*job); !may.ok()) return may;
  }
  PendingSlice slice;
  slice.uid = Uid::Make(context_.random);
  slice.size = size;
  slice.since = context_.clock.WallNow();
  slice.sequence = commits_.last_seq() + 1;  // of the event that Put writes
  WantSlice(job, command.submitted, std::move(slice));
  if (job->state == JobState::kRunning) job->message = GrowText(*ScaleOf(*job)->pending);
  return Done{};
}

// Admission checks judge whole jobs, so a difference cannot be shown to them.
Status StandInQueue::CheckGrowth(const JobRecord& job) const {
  if (job.state == JobState::kReserved)
    return Refused(job, "waits for its admission checks and cannot grow before it runs");
  const auto& queues = config_.view()->cluster_queues;
  const auto queue = queues.find(job.admission->cluster_queue);
  if (queue == queues.end() || RequiredChecks(queue->second, job.admission.get()).empty())
    return Done{};
  return Refused(job, "cannot grow: its ClusterQueue has admission checks, which judge whole jobs");
}

// A cycle did not admit the slice.
void StandInQueue::NoteSlice(const JobPtr& job, const core::UnadmittedWorkload& waiting) {
  jobs_.PutSoft(
      job, [&](const JobRecord& one) { return SliceWaits(one, waiting.reason, waiting.message); },
      true);
}

// One commit: the old slice ends, and the new one has its quota and the difference.
void StandInQueue::AdmitSlice(const core::PlannedAdmission& admit) {
  const JobPtr before = jobs_.all().at(OwnerOf(admit.job->id));
  MUSTER_CHECK(admit.replaced != nullptr && admit.replaced->id == before->id);
  std::string message;
  changes::Draft draft = changes::Grown(*before, admit, context_.clock.WallNow(), &message);
  const JobPtr grown = jobs_.Put(before, std::move(draft), "JobResized");
  commits_.AddEvent("JobSliceReplaced", grown->id, ObjectName(*grown),
                    std::string(ReasonName(Reason::kWorkloadSliceReplaced)), message);
  context_.metrics.OnSliceReplaced(grown->admission->cluster_queue);
  ResizeWhenDurable(*grown);
}

// If the commit fails, recovery sends the size that the database has.
void StandInQueue::ResizeWhenDurable(const JobRecord& job) {
  commits_.AnswerAfterCommit([this, id = job.id](const Error* error) {
    if (error == nullptr) SendResize(id);  // else recovery sends it
  });
}

// Idempotent: the member compares the size in the order with the size of the object.
void StandInQueue::SendResize(JobId id) {
  const JobPtr job = jobs_.Find(id);
  if (job == nullptr || !IsDispatched(job->state)) return;
  const DispatchKey key = CurrentKey(*job);
  const DispatchRow* row = rows_.Find(key);
  if (row == nullptr || !MayRun(row->state)) return;
  // This Ensure would also release the object (rule D9), which must not happen before the row is
  // durable.
  if (row->state == DispatchState::kReleasing && commits_.IsOnItsWay(key))
    return ResizeWhenDurable(*job);
  context_.orders.Ensure(key, job, row->remote_uid);
}

// A final refusal ends the resize with an event. Any other failure is tried again; the dispatcher
// backs off. In Intent and Releasing the state machine of the row repeats the order by itself.
void StandInQueue::NoteResized(const EnsuredCommand& answer) {
  if (answer.outcome.ok()) return;
  const DispatchRow* row = rows_.Find(answer.key);
  if (row == nullptr || !MayRun(row->state)) return;
  if (row->state == DispatchState::kIntent || row->state == DispatchState::kReleasing) return;
  const JobPtr job = jobs_.Find(row->job);
  if (job == nullptr || ScaleOf(*job) == nullptr) return;
  const Error& error = answer.outcome.error();
  if (dispatch::MayBeMended(error.code)) return SendResize(job->id);
  Log(LogLevel::kError, "engine", "resize_refused",
      {{"job", job->id.value}, {"err", error.detail}});
  commits_.AddEvent("JobResizeRefused", job->id, ObjectName(*job), "",
                    "member cluster " + answer.key.cluster +
                        " will not change the number of its pods: " + error.detail);
}

}  // namespace muster
