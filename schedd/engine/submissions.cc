// Submissions: whatever arrives together becomes one Store::Accept; a job enters the queue when it
// is durable.
#include <algorithm>

#include "schedd/engine/impl.h"
#include "schedd/engine/stand_ins_impl.h"

namespace muster {
namespace {

constexpr std::int64_t kRetryMs = 200;                    // a few group commits
constexpr std::int64_t kFullRetryMs = 10'000;             // a queue this long drains slowly
constexpr std::int64_t kCrowdedNs = 20 * kNanosPerMilli;  // a few round trips of a busy client

// Where the LocalQueue leads now; the service may have resolved it on an older configuration.
void ResolveQueue(const ConfigView& config, JobRecord* job) {
  const auto queue = config.local_queues.find({job->ns, job->local_queue});
  if (queue != config.local_queues.end()) job->cluster_queue = queue->second.cluster_queue;
}

// A batch script's object is named after the job's id: `--job-name` is free text and repeats.
void GiveName(JobRecord* job) {
  if (job->name.empty()) job->name = "job-" + std::to_string(job->id.value);
  if (job->display_name.empty()) job->display_name = job->name;
}

Error QueueIsFull(std::size_t most) {
  return Overloaded("the scheduler keeps at most " + std::to_string(most) +
                        " waiting jobs, and has as many; submit again when some have started",
                    kFullRetryMs);
}

// What the core can decide and the engine cannot carry out; null: nothing of it.
const char* NotSupported(const JobRecord& job) {
  const AdmissionState& state = StateOf(job);
  if (!state.replaces_slice.empty())
    return "annotation kueue.x-k8s.io/workload-slice-replacement-for: slices are made by the "
           "engine";
  if (!state.concurrent_parent.empty())
    return "a variant of concurrent admission is not supported by this version";
  return nullptr;
}

void ToWait(JobRecord* job) {
  job->state = job->suspended_by_user ? JobState::kHeld : JobState::kPending;
  changes::SayWhyItWaits(job);
}

}  // namespace

/// How many of the command's jobs may still wait; of an array all or none.
std::size_t Engine::Impl::RoomFor(const SubmitCommand& command) const {
  const std::size_t waiting = live.planned.waiting() + inflight_submissions;
  const std::size_t room = options.max_waiting_jobs - std::min(options.max_waiting_jobs, waiting);
  if (command.jobs.size() <= room) return command.jobs.size();
  return command.jobs.front().array_task ? 0 : room;
}

void Engine::Impl::Handle(SubmitCommand command) {
  if (inflight_submissions + command.jobs.size() > options.max_inflight_submissions) {
    metrics.OnShed("submissions");
    answers.push_back([done = std::move(command.done)] {
      done(Overloaded("too many submissions wait for the database", kRetryMs));
    });
    return;
  }
  for (const Submission& submission : command.jobs) {
    const char* problem = NotSupported(*submission.draft);
    if (problem == nullptr) continue;
    answers.push_back(
        [done = std::move(command.done), problem] { done(InvalidArgument(problem)); });
    return;
  }
  const std::size_t taken = RoomFor(command);
  const std::size_t refused = command.jobs.size() - taken;
  if (refused > 0) metrics.OnShed("queue");
  if (taken == 0) {
    answers.push_back([done = std::move(command.done), refused, most = options.max_waiting_jobs] {
      done(std::vector<Result<Submitted>>(refused, QueueIsFull(most)));
    });
    return;
  }
  AcceptBatch::Group group{std::move(command.done), gathering.jobs.size(), taken, refused};
  command.jobs.erase(command.jobs.begin() + static_cast<std::ptrdiff_t>(taken), command.jobs.end());
  const WallTime now = clock.WallNow();
  JobId array_id;
  for (Submission& submission : command.jobs) {
    JobRecord& job = *submission.draft;
    if (submission.config_version != live.config->version) gathering.built_on_older = true;
    job.id = JobId{++live.last_job_id.value};
    job.accept_seq = job.resource_version = ++live.last_seq;
    job.submit_time = now;
    GiveName(&job);
    ResolveQueue(*live.config, &job);
    if (HasVariants(*live.config, *options.settings, job)) MarkParent(&job);
    ToWait(&job);
    if (submission.array_task && job.batch != nullptr) {
      if (array_id.value == 0) array_id = job.id;
      auto batch = std::make_shared<BatchDetails>(*job.batch);
      batch->array_job_id = array_id;
      job.batch = std::move(batch);
    }
    JobPtr record = std::move(submission.draft);
    gathering.records.push_back(record);
    gathering.jobs.push_back(
        {std::move(record), std::move(submission.manifest), std::move(submission.idempotency)});
  }
  inflight_submissions += group.count;
  crowded_until = clock.Now() + kCrowdedNs;
  gathering.groups.push_back(std::move(group));
}

void Engine::Impl::SendAccepts() {
  if (gathering.groups.empty()) return;
  gathering.config_version = gathering.built_on_older ? -1 : live.config->version;
  gathering.sent = clock.Now();
  std::vector<NewJob> jobs = std::move(gathering.jobs);
  accepts.push_back(std::move(gathering));
  gathering = AcceptBatch{};
  store.Accept(epoch, std::move(jobs),
               [box = inbox](Result<std::vector<Result<Accepted>>> outcome) {
                 box->PushAlways(AcceptDone{std::move(outcome)});
               });
}

void Engine::Impl::Complete(AcceptDone done) {
  MUSTER_CHECK(!accepts.empty());
  AcceptBatch batch = std::move(accepts.front());
  accepts.pop_front();
  inflight_submissions -= batch.records.size();
  NoteWriterIdle();
  if (!done.outcome.ok()) {
    Error error = done.outcome.error();
    StoreFailed(error);
    error = WriteError(error);
    for (auto& group : batch.groups) {
      answers.push_back([answer = std::move(group.done), error] { answer(error); });
    }
    return;
  }
  heard_at = clock.Now();
  MUSTER_CHECK(done.outcome->size() == batch.records.size());
  // What was refused for itself may not have reached the database.
  if (options.lead != nullptr && !store_failed &&
      std::any_of(done.outcome->begin(), done.outcome->end(),
                  [](const Result<Accepted>& one) { return one.ok(); })) {
    options.lead->Renew(epoch, batch.sent);
  }
  const bool stale = batch.config_version != live.config->version;
  for (auto& group : batch.groups) {
    std::vector<Result<Submitted>> results;
    results.reserve(group.count + group.refused);
    for (std::size_t i = group.first; i < group.first + group.count; ++i) {
      results.push_back(AdoptAccepted(batch.records[i], (*done.outcome)[i], stale));
    }
    for (std::size_t i = 0; i < group.refused; ++i) {
      results.emplace_back(QueueIsFull(options.max_waiting_jobs));
    }
    answers.push_back([answer = std::move(group.done), results = std::move(results)]() mutable {
      answer(std::move(results));
    });
  }
}

Result<Submitted> Engine::Impl::AdoptAccepted(const JobPtr& record, const Result<Accepted>& outcome,
                                              bool stale_config) {
  if (!outcome.ok()) return outcome.error();
  if (outcome->replayed) {
    if (const JobPtr known = committed.jobs.Find(outcome->id); known != nullptr)
      return Submitted{known, true};
    auto first = store.ReadJob(outcome->id);
    if (!first.ok()) return first.error();
    return Submitted{std::move(first).value(), true};
  }
  JobPtr job = record;
  committed.last_seq = std::max(committed.last_seq, job->accept_seq);
  if (on_events != nullptr) {
    news.push_back(
        {job->accept_seq, job->submit_time, "JobAccepted", job->id, ObjectName(*job), "", ""});
  }
  dirty = true;
  if (!ready || store_failed) return Submitted{job, false};  // recovery will load it
  if (stale_config || (job->state == JobState::kPending && !verdicts.empty())) {
    auto fresh = std::make_shared<JobRecord>(*job);
    ResolveQueue(*live.config, fresh.get());
    const Verdict* verdict = changes::MayQueue(*fresh) ? VerdictOf(*fresh) : nullptr;
    if (verdict != nullptr) {
      fresh->reason = verdict->reason;
      fresh->message = verdict->message;
    }
    if (stale_config) RecheckNew(*job);
    if (fresh->cluster_queue != job->cluster_queue) lazy.insert(job->id);
    job = std::move(fresh);
  }
  committed.Put(job);
  Enter(job);
  return Submitted{job, false};
}

}  // namespace muster
