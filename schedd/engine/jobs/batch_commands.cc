// An update is checked as a whole before anything changes; then one Put makes the draft the record.
// Consequences follow from the record: a waiting job takes its place in the queue anew, dependents
// are judged, alarms are set. What a manifest says was read by the service with the changed fields,
// on the record of `base_version`; if that has changed, the service reads again (kAborted).
#include "schedd/engine/jobs/batch_commands.h"

#include <csignal>

#include "schedd/base/limits_slurm_gates.h"
#include "schedd/engine/context/object_names.h"
#include "schedd/engine/jobs/refusals.h"
#include "schedd/lifecycle/batch_gates.h"
#include "schedd/lifecycle/dependencies.h"
#include "schedd/lifecycle/evictions.h"
#include "schedd/model/task_ranges.h"

namespace muster {
namespace {

bool WaitsYet(const JobRecord& job) {
  return job.state == JobState::kPending || job.state == JobState::kHeld;
}

Error NotOnceStarted(const char* field) {
  return Error{Code::kFailedPrecondition,
               std::string(field) + " cannot be changed once the job holds quota",
               {{field, "cannot be changed once the job holds quota"}}};
}

// %N concerns the array as a whole, so that no task is taken apart for it.
bool IsThrottleAlone(const JobUpdate& update) {
  return !update.spec && !update.queue && !update.priority_class && !update.own_priority &&
         !update.nice && !update.dependencies && !update.begin_at && !update.deadline;
}

// Fields of the batch details that shape where and how the job runs.
const char* ChangedShape(const BatchDetails& a, const BatchDetails& b) {
  if (a.features != b.features) return "features";
  if (a.required_nodes != b.required_nodes) return "requiredNodes";
  if (a.excluded_nodes != b.excluded_nodes) return "excludedNodes";
  if (a.licenses != b.licenses) return "licenses";
  if (a.reservation != b.reservation) return "reservation";
  if (a.nodes != b.nodes || a.max_nodes != b.max_nodes) return "nodes";
  if (a.tasks != b.tasks) return "tasks";
  if (a.cpus_per_task != b.cpus_per_task) return "cpusPerTask";
  if (a.mem_per_node_mb != b.mem_per_node_mb) return "memoryPerNode";
  if (a.mem_per_cpu_mb != b.mem_per_cpu_mb) return "memoryPerCpu";
  if (a.gres != b.gres) return "gres";
  if (a.std_out != b.std_out) return "output";
  if (a.std_err != b.std_err) return "error";
  if (a.std_in != b.std_in) return "input";
  if (a.work_dir != b.work_dir) return "workDir";
  return nullptr;
}

}  // namespace

Result<JobPtr> BatchCommands::Suspend(const JobPtr& job) {
  if (job->batch == nullptr) return Refused(*job, "is no batch script and cannot be suspended");
  if (job->state != JobState::kRunning) return Refused(*job, "is not running");
  if (changes::IsCancelling(*job) || changes::IsRequeuing(*job))
    return Refused(*job, "is being stopped");
  if (BatchStateOf(*job).suspended_since.set()) return job;
  auto draft = std::make_shared<JobRecord>(*job);
  draft->reason = Reason::kSuspendedByAdmin;
  draft->message = "Its processes are stopped until it is resumed";
  changes::ChangeBatch(draft.get(), [now = context_.clock.WallNow()](BatchState* state) {
    state->suspended_since = now;
  });
  attempts_.Signal(*job, SIGSTOP);
  return jobs_.Put(job, std::move(draft), "JobSuspended");
}

Result<JobPtr> BatchCommands::Resume(const JobPtr& job) {
  const WallTime since = BatchStateOf(*job).suspended_since;
  if (!since.set()) return Refused(*job, "is not suspended");
  auto draft = std::make_shared<JobRecord>(*job);
  if (job->reason == Reason::kSuspendedByAdmin) {
    draft->reason = Reason::kRunning;
    draft->message.clear();
  }
  changes::ChangeBatch(draft.get(), [&, now = context_.clock.WallNow()](BatchState* state) {
    state->suspended_s += std::max<std::int64_t>(0, (now.us - since.us) / kMicrosPerSecond);
    state->suspended_since = {};
  });
  attempts_.Signal(*job, SIGCONT);
  return jobs_.Put(job, std::move(draft), "JobResumed");
}

// While the job runs its member's agent is connected to the client, and no lease is needed.
Result<JobPtr> BatchCommands::Keep(const JobPtr& job) {
  if (job->batch == nullptr || !job->batch->allocation_only)
    return Refused(*job, "is no allocation");
  const bool leased = BatchStateOf(*job).client_until.set();
  if (job->state == JobState::kRunning && !leased) return job;
  auto draft = std::make_shared<JobRecord>(*job);
  const bool runs = job->state == JobState::kRunning;
  const WallTime until = context_.clock.WallNow().PlusSeconds(limits::kClientLeaseS);
  changes::ChangeBatch(draft.get(),
                       [&](BatchState* state) { state->client_until = runs ? WallTime{} : until; });
  return jobs_.Put(job, std::move(draft), "JobKept");
}

// Nobody could renew a lease while no daemon led.
void BatchCommands::RepeatAfterRecovery() {
  std::map<JobId, JobPtr> leased;
  for (const auto& [id, job] : jobs_.all()) {
    const BatchState& state = BatchStateOf(*job);
    if (IsTerminal(job->state)) continue;
    const bool stops = changes::IsCancelling(*job) || changes::IsRequeuing(*job);
    if (state.suspended_since.set() && IsDispatched(job->state))
      attempts_.Signal(*job, stops ? SIGCONT : SIGSTOP);
    if (state.client_until.set()) leased[id] = job;
  }
  for (const auto& [id, job] : leased) (void)Keep(job);
}

void BatchCommands::Handle(UpdateJobCommand command) {
  const auto outcome = Update(command);
  if (outcome.ok()) {
    commits_.AddAudit(command.actor, "update", ObjectName(**outcome), command.fields,
                      command.update.base_version, (*outcome)->resource_version);
  }
  commits_.AnswerOutcome(std::move(command.done), outcome);
}

// What the job's state forbids, by the name of the field.
Status BatchCommands::CheckState(const JobRecord& job, const JobUpdate& update) const {
  if (IsTerminal(job.state))
    return Refused(job, "has already ended: " + std::string(JobStateName(job.state)));
  if (update.base_version != job.resource_version) {
    return Aborted("job " + std::to_string(job.id.value) + " has been changed since it was read");
  }
  if (WaitsYet(job)) return Done{};
  if (changes::IsCancelling(job) || changes::IsRequeuing(job))
    return Refused(job, "is being stopped and cannot be changed now");
  if (update.queue) return NotOnceStarted("queue");
  if (update.dependencies) return NotOnceStarted("dependency");
  if (update.begin_at) return NotOnceStarted("begin");
  if (update.priority_class && job.priority_class.empty()) return NotOnceStarted("priorityClass");
  if (!update.spec) return Done{};
  if (const char* field = ChangedShape(*job.batch, *update.spec->batch); field != nullptr)
    return NotOnceStarted(field);
  const std::int64_t limit = update.spec->time_limit_s;
  if (limit != job.time_limit_s &&
      (limit == 0 || (job.time_limit_s > 0 && limit > job.time_limit_s)))
    return WrongField("timeLimit",
                      "the limit of a job that has started can only be lowered: its "
                      "member ends it at the limit that it was started with");
  return Done{};
}

// Requests and placement are taken while the job waits. Once it holds quota, they are the same.
void BatchCommands::TakeSpec(const JobUpdate& update, JobRecord* draft) {
  const Respecified& spec = *update.spec;
  auto batch = std::make_shared<BatchDetails>(*spec.batch);
  // Of an array these are the engine's.
  batch->array_job_id = draft->batch->array_job_id;
  batch->array_task_id = draft->batch->array_task_id;
  batch->array_spec = draft->batch->array_spec;
  batch->partitions = draft->batch->partitions;
  draft->batch = std::move(batch);
  draft->time_limit_s = spec.time_limit_s;
  if (!spec.display_name.empty()) draft->display_name = spec.display_name;
  changes::ChangeBatch(draft, [&](BatchState* state) { state->changed_spec = spec.changed_spec; });
  if (WaitsYet(*draft)) {
    draft->pod_sets = spec.pod_sets;
    draft->placement = spec.placement;
    if (spec.resource_problem != StateOf(*draft).resource_problem) {
      ChangeState(draft,
                  [&](AdmissionState* state) { state->resource_problem = spec.resource_problem; });
    }
  }
  commits_.tx().respecified.insert(draft->id);
}

// The queue's own limits are judged with every change of a waiting job.
void BatchCommands::TakeQueue(const JobUpdate& update, JobRecord* draft) {
  if (update.queue) {
    draft->local_queue = *update.queue;
    draft->cluster_queue = *update.cluster_queue;
    // From now on it waits in this partition alone.
    auto batch = std::make_shared<BatchDetails>(*draft->batch);
    batch->partitions.clear();
    draft->batch = std::move(batch);
    // A queue other than at acceptance is stored with the AdmissionState.
    ChangeState(draft, [](AdmissionState*) {});
    commits_.tx().respecified.insert(draft->id);
  }
  if (update.priority_class) {
    draft->priority_class = *update.priority_class;
    draft->priority = *update.class_priority;
    ChangeState(draft, [](AdmissionState*) {});
    commits_.tx().respecified.insert(draft->id);
  }
  if (!WaitsYet(*draft)) return;
  const auto queue = config_.view()->local_queues.find({draft->ns, draft->local_queue});
  if (queue == config_.view()->local_queues.end()) return;
  std::string problem = changes::PartitionProblem(*draft, queue->second.partition,
                                                  changes::DeclaredMachines(*config_.view()));
  changes::ChangeBatch(draft,
                       [&](BatchState* state) { state->partition_problem = std::move(problem); });
}

void BatchCommands::TakeState(const JobUpdate& update, JobRecord* draft) {
  changes::ChangeBatch(draft, [&](BatchState* state) {
    if (update.own_priority) {
      state->own_priority = *update.own_priority;
      if (state->own_priority == std::int64_t{0}) state->own_priority.reset();
    }
    if (update.nice) state->nice = *update.nice;
    if (update.begin_at) state->begin_at = *update.begin_at;
    if (update.deadline) state->deadline = *update.deadline;
    if (update.task_throttle) state->task_throttle = *update.task_throttle;
    if (update.dependencies) {
      state->dependencies = update.dependencies->dependencies;
      state->any_dependency = update.dependencies->any_dependency;
    }
  });
  if (update.dependencies) dependencies_.JudgeNew(draft);
  if (update.begin_at) changes::BeginAt(draft, *update.begin_at, context_.clock.CalendarNow());
  if (!update.own_priority) return;
  // Priority 0 holds the job, another one releases it, as in Slurm; one that runs is held when it
  // is requeued.
  const bool holds = *update.own_priority == std::int64_t{0};
  const bool may_release = update.by_operator || !BatchStateOf(*draft).held_by_admin;
  if (!WaitsYet(*draft)) {
    if (holds && !draft->suspended_by_user) {
      *draft = *changes::HeldWhileRunning(*draft, false, context_.clock.WallNow());
    } else if (!holds && draft->suspended_by_user && may_release) {
      *draft = *changes::ReleasedWhileRunning(*draft);
    }
    return;
  }
  if (holds && draft->state == JobState::kPending) {
    *draft = *changes::Held(*draft);
  } else if (!holds && draft->state == JobState::kHeld && may_release) {
    *draft = *changes::Released(*draft);
  }
}

// %N is the array's, and each record of its waiting tasks has it.
void BatchCommands::SetThrottle(JobId array, std::int32_t throttle) {
  for (const JobPtr& record : arrays_.Waiting(array)) {
    if (BatchStateOf(*record).task_throttle == throttle) continue;
    auto draft = std::make_shared<JobRecord>(*record);
    changes::ChangeBatch(draft.get(), [&](BatchState* state) { state->task_throttle = throttle; });
    jobs_.Put(record, std::move(draft), "JobUpdated");
  }
}

// Some waiting tasks get a record of their own, when nothing can be refused any more.
Result<JobPtr> BatchCommands::Update(const UpdateJobCommand& command) {
  const JobUpdate& update = command.update;
  JobPtr job = jobs_.Find(command.job);
  if (job == nullptr) return NoSuchJob(command.job);
  if (job->batch == nullptr) return Refused(*job, "is no batch script");
  const Status allowed = CheckState(*job, update);
  if (!allowed.ok()) return allowed.error();
  if (update.dependencies) {
    const Status line = dependencies_.CheckCircle(*job, update.dependencies->dependencies);
    if (!line.ok()) return line.error();
  }
  if (!command.tasks.empty() && !IsThrottleAlone(update)) {
    TaskRanges chosen = Common(BatchStateOf(*job).waiting_tasks, command.tasks);
    if (chosen.empty()) return Aborted("the tasks of the array have started since it was read");
    job = array_tasks_.Divide(job, std::move(chosen));
  }
  auto draft = std::make_shared<JobRecord>(*job);
  if (update.spec) TakeSpec(update, draft.get());
  TakeQueue(update, draft.get());
  TakeState(update, draft.get());
  if (WaitsYet(*draft)) changes::SayWhyItWaits(draft.get());
  const bool queued = WaitsYet(*job) && waiting_.Remove(job->id);
  const JobPtr changed = jobs_.Put(job, std::move(draft), "JobUpdated");
  if (queued && changes::MayQueue(*changed)) waiting_.Add(changed);
  jobs_.WakeTreeAfterCommit(changed->cluster_queue);
  if (update.task_throttle) SetThrottle(ArrayIdOf(*changed), *update.task_throttle);
  return changed;
}

}  // namespace muster
