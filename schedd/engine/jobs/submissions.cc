// Submissions: everything that arrives in one step becomes one Store::Accept.
//
// 1. Handle checks the limits (submissions that wait for the database; jobs that wait in queues, of
//    all together, of one user and of one namespace), gives each job its id, its event number and
//    its place in the order, and adds it to the batch being gathered.
// 2. Send hands the batch to the store at the end of the step's input.
// 3. Complete takes the store's answer, which is to the oldest batch, and adopts each durable job
//    into memory. Clients are answered after the next publication.
//
// The configuration may have changed between 1 and 3, or between the checks of the service and 1.
// Then the LocalQueue is resolved again and the requests are measured again
// (ResourceChecks::RecheckNew). A repeated idempotency key writes nothing and is answered with the
// first job.
#include "schedd/engine/jobs/submissions.h"

#include <algorithm>
#include <map>
#include <span>

#include "schedd/base/fault_points.h"
#include "schedd/base/limits.h"
#include "schedd/engine/commit/write_errors.h"
#include "schedd/engine/context/audit_rows.h"
#include "schedd/engine/context/object_names.h"
#include "schedd/engine/jobs/variants.h"
#include "schedd/model/admission_lifecycle.h"

namespace muster {
namespace {

// Told to clients when to try again: after a few group commits.
constexpr std::int64_t kRetryMs = 200;
// A queue as long as the limit drains slowly.
constexpr std::int64_t kFullRetryMs = 10'000;

// The ClusterQueue that the LocalQueue leads to now; the service may have read an older
// configuration.
void ResolveQueue(const ConfigView& config, JobRecord* job) {
  const auto queue = config.local_queues.find({job->ns, job->local_queue});
  if (queue != config.local_queues.end()) job->cluster_queue = queue->second.cluster_queue;
}

// The object of a batch script is named after the job's id, because `--job-name` is free text and
// need not be unique; the text becomes the display name.
void GiveName(JobRecord* job) {
  if (job->name.empty()) job->name = "job-" + std::to_string(job->id.value);
  if (job->display_name.empty()) job->display_name = job->name;
}

// The limit of all waiting jobs together.
Error QueueIsFull(std::size_t most) {
  return Overloaded("the scheduler keeps at most " + std::to_string(most) +
                        " waiting jobs, and has as many; submit again when some have started",
                    kFullRetryMs);
}

// What a manifest may not bring along, because the engine makes it itself; null: nothing of that
// kind.
const char* NotSupported(const JobRecord& job) {
  const AdmissionState& state = StateOf(job);
  if (!state.replaces_slice.empty())
    return "annotation kueue.x-k8s.io/workload-slice-replacement-for: slices are made by the "
           "engine";
  if (!state.concurrent_parent.empty())
    return "a variant of concurrent admission is not supported by this version";
  return nullptr;
}

// The one audit row of a request: what it submitted. It is written with the jobs, so it cannot say
// which names the database will find taken (AuditOutcomes).
AuditRow RequestRow(const Actor& actor, WallTime now, std::span<const JobPtr> jobs) {
  const JobRecord& first = *jobs.front();
  if (jobs.size() == 1) {
    AuditRow row = AuditRowOf(actor, now, "create", ObjectName(first),
                              "job " + std::to_string(first.id.value));
    row.new_version = first.resource_version;
    return row;
  }
  std::string detail = std::to_string(jobs.size()) + " jobs, " + std::to_string(first.id.value) +
                       "-" + std::to_string(jobs.back()->id.value) + ":";
  bool one_namespace = true;
  for (const JobPtr& job : jobs) {
    one_namespace = one_namespace && job->ns == first.ns;
    if (detail.size() < limits::kAuditTextBytes) detail += " " + job->name;
  }
  return AuditRowOf(actor, now, "create", one_namespace ? "job/" + first.ns : "job",
                    std::move(detail));
}

// A job submitted with suspend or --hold starts as Held.
void ToWait(JobRecord* job) {
  job->state = job->suspended_by_user ? JobState::kHeld : JobState::kPending;
  changes::SayWhyItWaits(job);
}

}  // namespace

// How many of the command's jobs may still wait: jobs that are not durable yet count too. An array
// counts as one, because it costs one record however many tasks it has.
TenantCounts::Fit Submissions::RoomFor(const SubmitCommand& command) const {
  TenantCounts::Fit fit = tenants_.FitOf(command.jobs);
  const std::size_t waiting = jobs_.planned().waiting() + commits_.pace().inflight_submissions();
  const std::size_t room =
      context_.options.max_waiting_jobs - std::min(context_.options.max_waiting_jobs, waiting);
  if (room < fit.jobs) fit = {room, QueueIsFull(context_.options.max_waiting_jobs)};
  return fit;
}

// Ids are given before the write, so that jobs of one batch are ordered as they arrived. An id
// whose job is refused is not used again.
void Submissions::Handle(SubmitCommand command) {
  if (commits_.pace().inflight_submissions() + command.jobs.size() >
      context_.options.max_inflight_submissions) {
    context_.metrics.OnShed("submissions");
    commits_.Answer([done = std::move(command.done)] {
      done(Overloaded("too many submissions wait for the database", kRetryMs));
    });
    return;
  }
  for (const Submission& submission : command.jobs) {
    const char* problem = NotSupported(*submission.draft);
    if (problem == nullptr) continue;
    commits_.Answer([done = std::move(command.done), problem] { done(InvalidArgument(problem)); });
    return;
  }
  const TenantCounts::Fit fit = RoomFor(command);
  const std::size_t taken = fit.jobs;
  const std::size_t refused = command.jobs.size() - taken;
  if (refused > 0) context_.metrics.OnShed("queue");
  if (taken == 0) {
    commits_.Answer(
        [done = std::move(command.done), refused, refusal = fit.refusal.value_or(Error{})] {
      done(std::vector<Result<SubmittedJob>>(refused, refusal));
    });
    return;
  }
  Batch::Group group{std::move(command.done),
                     std::move(command.actor),
                     gathering_.jobs.size(),
                     taken,
                     refused,
                     fit.refusal.value_or(Error{})};
  command.jobs.erase(command.jobs.begin() + static_cast<std::ptrdiff_t>(taken), command.jobs.end());
  const WallTime now = context_.clock.WallNow();
  const WallTime today = context_.clock.CalendarNow();
  for (Submission& submission : command.jobs) {
    JobRecord& job = *submission.draft;
    if (submission.config_version != config_.view()->version) gathering_.built_on_older = true;
    job.id = ids_.Next();
    job.accept_seq = job.resource_version = commits_.NextSeq();
    if (gathering_.records.empty()) commits_.BeginAccept(job.accept_seq);
    job.submit_time = now;
    GiveName(&job);
    ResolveQueue(*config_.view(), &job);
    const bool array = IsArrayRecord(job);
    // Tasks of an array try all flavors of their queue in order.
    if (!array && HasVariants(*config_.view(), context_.settings(), job)) MarkParent(&job);
    TakeBatchGates(*config_.view(), dependencies_, &job, today);
    ToWait(&job);
    if (array) {
      auto batch = std::make_shared<BatchDetails>(*job.batch);
      batch->array_job_id = job.id;
      job.batch = std::move(batch);
    }
    tenants_.Take(job);
    if (MUSTER_PLANTED(idempotency_key_ignored)) submission.idempotency.reset();
    JobPtr record = std::move(submission.draft);
    gathering_.records.push_back(record);
    gathering_.jobs.push_back(
        {std::move(record), std::move(submission.manifest), std::move(submission.idempotency)});
  }
  gathering_.audit.push_back(RequestRow(
      group.actor, today, std::span(gathering_.records).subspan(group.first, group.count)));
  commits_.pace().TakeSubmissions(group.count);
  gathering_.groups.push_back(std::move(group));
}

// `config_version` is compared by Complete; -1 never matches, for a batch of which some job was
// checked by an older configuration.
void Submissions::Send() {
  if (gathering_.groups.empty()) return;
  gathering_.config_version = gathering_.built_on_older ? -1 : config_.view()->version;
  gathering_.sent = context_.clock.Now();
  std::vector<NewJob> jobs = std::move(gathering_.jobs);
  std::vector<AuditRow> audit = std::move(gathering_.audit);
  sent_.push_back(std::move(gathering_));
  gathering_ = Batch{};
  commits_.pace().Sent();
  context_.store.Accept(commits_.epoch(), std::move(jobs), std::move(audit),
                        [box = context_.inbox](Result<std::vector<Result<AcceptedJob>>> outcome) {
    box->PushAlways(AcceptDone{std::move(outcome)});
  });
  MUSTER_FAULT_POINT(accept_sent);
}

// The store answers batches in the order in which it got them. If the whole write failed, the
// engine recovers; else each job has its own outcome (a taken name fails one job alone).
void Submissions::Complete(AcceptDone done) {
  MUSTER_CHECK(!sent_.empty());
  Batch batch = std::move(sent_.front());
  sent_.pop_front();
  commits_.EndAccept();
  commits_.pace().DropSubmissions(batch.records.size());
  for (const JobPtr& record : batch.records) tenants_.Drop(*record);
  commits_.pace().Answered();
  if (!done.outcome.ok()) {
    Error error = done.outcome.error();
    commits_.Fail(error);
    error = WriteError(error);
    for (auto& group : batch.groups) {
      if (MUSTER_PLANTED(failed_accept_answered)) {
        commits_.Answer([answer = group.done, job = batch.records[group.first]] {
          answer(std::vector<Result<SubmittedJob>>(1, SubmittedJob{job, false}));
        });
        continue;
      }
      commits_.Answer([answer = std::move(group.done), error] { answer(error); });
    }
    return;
  }
  MUSTER_CHECK(done.outcome->size() == batch.records.size());
  // A job that was refused for its own sake may not have reached the database, so it does not
  // confirm the lead.
  commits_.NoteAnswer(batch.sent,
                      std::any_of(done.outcome->begin(), done.outcome->end(),
                                  [](const Result<AcceptedJob>& one) { return one.ok(); }));
  const bool stale = batch.config_version != config_.view()->version;
  for (auto& group : batch.groups) {
    std::vector<Result<SubmittedJob>> results;
    results.reserve(group.count + group.refused);
    AuditOutcomes(group, batch, &*done.outcome);
    for (std::size_t i = group.first; i < group.first + group.count; ++i) {
      results.push_back(Adopt(batch.records[i], (*done.outcome)[i], stale));
    }
    for (std::size_t i = 0; i < group.refused; ++i) {
      results.emplace_back(group.refusal);
    }
    commits_.Answer([answer = std::move(group.done), results = std::move(results)]() mutable {
      answer(std::move(results));
    });
  }
}

// One row for all jobs of the group that failed with the same code, and one for those that an
// earlier request with the same key had made already. Rare: most requests need no second row. After
// a failed write recovery reads what the database has, and the frontend notes the failure.
void Submissions::AuditOutcomes(const Batch::Group& group, const Batch& batch,
                                std::vector<Result<AcceptedJob>>* outcomes) {
  if (commits_.failed()) return;
  std::map<Code, AuditRow> rows;
  for (std::size_t i = group.first; i < group.first + group.count; ++i) {
    Result<AcceptedJob>& outcome = (*outcomes)[i];
    if (outcome.ok() && !outcome->replayed) continue;
    if (!outcome.ok()) outcome.error().audited = true;
    const JobRecord& job = *batch.records[i];
    const Code code = outcome.ok() ? Code::kOk : outcome.error().code;
    auto [row, first] = rows.try_emplace(code);
    if (first) {
      row->second = AuditRowOf(group.actor, context_.clock.CalendarNow(), "create", ObjectName(job),
                               outcome.ok() ? "made by an earlier request, not by this one:"
                                            : outcome.error().detail + "; not made:");
      row->second.result = outcome.ok() ? kAuditAllowed : kAuditFailed;
      row->second.code = CodeName(code);
      row->second.count = 0;
    } else {
      row->second.object = "job/" + job.ns;
    }
    ++row->second.count;
    if (row->second.detail.size() < limits::kAuditTextBytes) {
      row->second.detail +=
          " job " + std::to_string(job.id.value) +
          (outcome.ok() ? ", which is job " + std::to_string(outcome->id.value) : "");
    }
  }
  if (rows.empty()) return;
  // Nobody else notes these failures, so they go to whoever keeps rows until they are durable.
  AuditCommand outcome_rows;
  for (auto& [code, row] : rows) outcome_rows.rows.push_back(std::move(row));
  context_.inbox->PushAlways(Command(std::move(outcome_rows)));
}

// A durable job enters memory and its queue. A class of equal jobs may have a verdict already,
// which the newcomer shows at once. What differs from the accepted record in its queue is written
// with a later commit (MarkLazy).
Result<SubmittedJob> Submissions::Adopt(const JobPtr& record, const Result<AcceptedJob>& outcome,
                                        bool stale_config) {
  if (!outcome.ok()) return outcome.error();
  if (outcome->replayed) {
    if (const JobPtr known = commits_.committed().jobs.Find(outcome->id); known != nullptr)
      return SubmittedJob{known, true};
    auto first = context_.store.ReadJob(outcome->id);
    if (!first.ok()) return first.error();
    return SubmittedJob{std::move(first).value(), true};
  }
  JobPtr job = record;
  commits_.NoteAccepted(job->accept_seq);
  commits_.AddNews(
      {job->accept_seq, job->submit_time, "JobAccepted", job->id, ObjectName(*job), "", ""});
  // A write failed meanwhile: recovery will load the job.
  if (commits_.failed()) return SubmittedJob{job, false};
  if (stale_config || (job->state == JobState::kPending && waiting_.HasVerdicts())) {
    auto fresh = std::make_shared<JobRecord>(*job);
    ResolveQueue(*config_.view(), fresh.get());
    const Verdict* verdict = changes::MayBeTried(*fresh) ? waiting_.VerdictOf(*fresh) : nullptr;
    if (verdict != nullptr) {
      fresh->reason = verdict->reason;
      fresh->message = verdict->message;
    }
    if (stale_config) checks_.RecheckNew(*job);
    if (stale_config) partitions_.JudgeNew(job->id);
    if (fresh->cluster_queue != job->cluster_queue) jobs_.MarkLazy(job->id);
    job = std::move(fresh);
  }
  commits_.TakeAccepted(job);
  jobs_.Enter(job);
  return SubmittedJob{job, false};
}

// The batch that was gathered and not sent; nothing of it was written.
void Submissions::FailWaiting(const Error& error) {
  for (const JobPtr& record : gathering_.records) tenants_.Drop(*record);
  for (auto& group : gathering_.groups) {
    commits_.Answer([done = std::move(group.done), error] { done(error); });
    commits_.pace().DropSubmissions(group.count);
  }
  if (!gathering_.records.empty()) commits_.DropAccept();
  gathering_ = Batch{};
}

}  // namespace muster
