// Elastic jobs (KEP-77, rule A55): a job that runs shrinks at once; to grow it waits as a
// larger slice, which takes the old one's place, quota included, in the commit that admits it. The
// attempt goes on throughout: its member is told how many pods it is to have. And what else a new
// manifest may change: gates are taken away.
#include "schedd/dispatch/step/step.h"
#include "schedd/engine/stand_ins_impl.h"
#include "schedd/model/scale_lifecycle.h"
#include "schedd/telemetry/log.h"

namespace muster {
namespace {

constexpr const char* kSizeField = "spec.parallelism";
constexpr const char* kGateCleared = "AdmissionGatedBy cleared, waiting for quota reservation";

Error Refused(const JobRecord& job, const std::string& why) {
  return {Code::kFailedPrecondition, "job " + std::to_string(job.id.value) + " " + why};
}

// True while a member may have the attempt and nobody asked to end it.
bool MayRun(DispatchState state) {
  switch (state) {
    case DispatchState::kIntent:
    case DispatchState::kCreated:
    case DispatchState::kReleasing:
    case DispatchState::kRunning:
    case DispatchState::kFinishing:
    case DispatchState::kUnknown:
      return true;
    default:
      return false;
  }
}

std::string GrowText(const PendingSlice& slice) {
  return "Waits to grow to " + std::to_string(slice.size.pods()) + " pods" +
         (slice.message.empty() ? "" : ": " + slice.message);
}

// Null if the slice's reason is what the record says already.
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

void Engine::Impl::Handle(ReplaceJobCommand command) {
  const auto outcome = stand_ins->Replace(command);
  if (outcome.ok() && !command.dry_run)
    AddAudit(command.actor, "replace", ObjectName(**outcome), "");
  AnswerJob(std::move(command.done), outcome);
}

Result<JobPtr> Engine::Impl::StandIns::Replace(const ReplaceJobCommand& command) {
  const auto found = engine.live.jobs.find(command.job);
  if (found == engine.live.jobs.end() || IsTerminal(found->second->state)) {
    return Error{Code::kFailedPrecondition,
                 "job " + std::to_string(command.job.value) + " has already ended"};
  }
  const JobPtr job = found->second;
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
  const JobPtr changed = engine.Put(job, std::move(draft), event);
  // A slice that waits changes nothing of what runs.
  if (IsDispatched(changed->state) && changed->admission != job->admission)
    ResizeWhenDurable(*changed);
  return changed;
}

Status Engine::Impl::StandIns::Resize(JobRecord* job, const ReplaceJobCommand& command) {
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
    if (job->state == JobState::kReserved)
      return Refused(*job, "waits for its admission checks and cannot grow before it runs");
    const auto queue = engine.live.config->cluster_queues.find(job->admission->cluster_queue);
    if (queue != engine.live.config->cluster_queues.end() &&
        !RequiredChecks(queue->second, job->admission.get()).empty()) {
      return Refused(*job,
                     "cannot grow: its ClusterQueue has admission checks, which judge whole jobs");
    }
  }
  PendingSlice slice;
  slice.uid = Uid::Make(engine.random);
  slice.size = size;
  slice.since = engine.clock.WallNow();
  slice.sequence = engine.live.last_seq + 1;  // of the event that Put writes
  WantSlice(job, command.submitted, std::move(slice));
  if (job->state == JobState::kRunning) job->message = GrowText(*ScaleOf(*job)->pending);
  return Done{};
}

void Engine::Impl::StandIns::NoteSlice(const JobPtr& job, const core::NotAdmitted& waiting) {
  engine.PutSoft(
      job, [&](const JobRecord& one) { return SliceWaits(one, waiting.reason, waiting.message); },
      true);
}

// One commit: the old slice ends, the new one has its quota and what came to it.
void Engine::Impl::StandIns::AdmitSlice(const core::Admit& admit) {
  const JobPtr before = engine.live.jobs.at(OwnerOf(admit.job->id));
  MUSTER_CHECK(admit.replaced != nullptr && admit.replaced->id == before->id);
  auto draft = std::make_shared<JobRecord>(*before);
  const std::string message = TakeOverSlice(draft.get(), admit.admission, engine.clock.WallNow());
  if (draft->state == JobState::kRunning) draft->message.clear();
  const JobPtr grown = engine.Put(before, std::move(draft), "JobResized");
  engine.AddEvent("JobSliceReplaced", grown->id, ObjectName(*grown),
                  std::string(ReasonName(Reason::kWorkloadSliceReplaced)), message);
  engine.metrics.OnSliceReplaced(grown->admission->cluster_queue);
  ResizeWhenDurable(*grown);
}

void Engine::Impl::StandIns::ResizeWhenDurable(const JobRecord& job) {
  engine.AnswerAfterCommit([this, id = job.id](const Error* error) {
    if (error == nullptr) SendResize(id);  // else recovery sends it
  });
}

// Idempotent: the member compares the order's scale with what it has.
void Engine::Impl::StandIns::SendResize(JobId id) {
  const auto found = engine.live.jobs.find(id);
  if (found == engine.live.jobs.end() || !IsDispatched(found->second->state)) return;
  const DispatchKey key = CurrentKey(*found->second);
  const auto row = engine.live.dispatches.find(key);
  if (row == engine.live.dispatches.end() || !MayRun(row->second.state)) return;
  // A release that is not durable yet must not leave by this door.
  if (row->second.state == DispatchState::kReleasing && engine.IsOnItsWay(key))
    return ResizeWhenDurable(*found->second);
  engine.orders.Ensure(key, found->second, row->second.remote_uid);
}

// The answer to an order for an attempt that was there already. The member's last word ends it;
// anything else is tried again, after the dispatcher's back-off.
void Engine::Impl::StandIns::NoteResized(const EnsuredCommand& answer) {
  if (answer.outcome.ok()) return;
  const auto row = engine.live.dispatches.find(answer.key);
  if (row == engine.live.dispatches.end() || !MayRun(row->second.state)) return;
  const DispatchState state = row->second.state;
  // The state machine tries these again by itself.
  if (state == DispatchState::kIntent || state == DispatchState::kReleasing) return;
  const auto job = engine.live.jobs.find(row->second.job);
  if (job == engine.live.jobs.end() || ScaleOf(*job->second) == nullptr) return;
  const Error& error = answer.outcome.error();
  if (dispatch::MayBeMended(error.code)) return SendResize(job->first);
  Log(LogLevel::kError, "engine", "resize_refused",
      {{"job", job->first.value}, {"err", error.detail}});
  engine.AddEvent("JobResizeRefused", job->first, ObjectName(*job->second), "",
                  "member cluster " + answer.key.cluster +
                      " will not change the number of its pods: " + error.detail);
}

}  // namespace muster
