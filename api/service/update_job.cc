// Use case: change a batch script after its submission (scontrol update; rule B33). Holds
// SchedulerService::UpdateJob and CheckDependencies.
//
// Fields are of three kinds. Those of the manifest's spec are laid over it, and the manifest is
// read as a whole again, so that an update is checked like a submission and everything follows from
// it as it does there; those that stay are kept as BatchState::changed_spec. Those of the job's
// state (dependency, begin, deadline, nice) are read with them and not kept. The queue and the
// class are resolved against the configuration. The engine then judges what the job's state allows,
// on the very record that was read here.
#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "api/service/actor.h"
#include "api/service/array_ids.h"
#include "api/service/batch_checks.h"
#include "api/service/job_rights.h"
#include "api/service/operators.h"
#include "api/service/post_command.h"
#include "api/service/scheduler_service.h"
#include "api/service/tenancy.h"
#include "api/service/unserved.h"
#include "schedd/shapes/kinds/preparation.h"
#include "schedd/shapes/parts/changed_spec.h"
#include "schedd/text/lenient.h"

namespace muster::api {
namespace {

// A field of the update and its name in the manifest's spec.
struct SpecField {
  std::string_view field, spec;
  bool kept = true;  // in changed_spec; else it is the job's state
};
constexpr SpecField kSpecFields[] = {
    {"timeLimit", "timeLimit"},
    {"timeMin", "timeMin"},
    {"comment", "comment"},
    {"name", "jobName"},
    {"features", "features"},
    {"requiredNodes", "requiredNodes"},
    {"excludedNodes", "excludedNodes"},
    {"licenses", "licenses"},
    {"reservation", "reservation"},
    {"output", "output"},
    {"error", "error"},
    {"input", "input"},
    {"workDir", "workDir"},
    {"wckey", "wckey"},
    {"mailType", "mailType"},
    {"mailUser", "mailUser"},
    {"requeue", "requeue"},
    {"nodes", "nodes"},
    {"tasks", "tasks"},
    {"tasksPerNode", "tasksPerNode"},
    {"cpusPerTask", "cpusPerTask"},
    {"memoryPerNode", "memoryPerNode"},
    {"memoryPerCpu", "memoryPerCpu"},
    {"gres", "gres"},
    {"signal", "signal"},
    {"dependency", "dependency", false},
    {"begin", "begin", false},
    {"deadline", "deadline", false},
    {"nice", "nice", false},
};
constexpr std::string_view kOwnFields[] = {"priority", "queue", "account", "priorityClass",
                                           "arrayTaskThrottle"};

const SpecField* FindSpecField(std::string_view name) {
  const auto* found = std::find_if(std::begin(kSpecFields), std::end(kSpecFields),
                                   [&](const SpecField& one) { return one.field == name; });
  return found == std::end(kSpecFields) ? nullptr : found;
}

// Memory of the node takes the place of memory of each CPU, and the other way round, as in Slurm.
void ForgetOtherMemory(json::object* kept) {
  for (const char* named : {"memoryPerNode", "memoryPerCpu"}) {
    const json::value* amount = kept->if_contains(named);
    if (amount == nullptr || amount->is_null()) continue;
    for (const char* other : {"memoryPerNode", "memoryPerCpu", "memoryPerGpu"}) {
      if (!kept->contains(other)) (*kept)[other] = nullptr;
    }
    return;
  }
}

// Every unknown field, each by its name.
Status OnlyKnown(const json::object& fields) {
  Error error = InvalidArgument("");
  for (const auto& entry : fields) {
    const std::string_view name = entry.key();
    const bool own =
        std::find(std::begin(kOwnFields), std::end(kOwnFields), name) != std::end(kOwnFields);
    if (own || FindSpecField(name) != nullptr) continue;
    error.detail += (error.detail.empty() ? "" : "; ") + std::string(name) +
                    ": cannot be changed after submission";
    error.fields.push_back({std::string(name), "cannot be changed after submission"});
  }
  if (fields.empty()) return InvalidArgument("the update names no field");
  return error.fields.empty() ? Status(Done{}) : Status(std::move(error));
}

std::string NamesOf(const json::object& fields) {
  std::string names;
  for (const auto& entry : fields) names += (names.empty() ? "" : ", ") + std::string(entry.key());
  return names;
}

Result<std::string> TextOf(const json::object& fields, std::string_view name) {
  const json::value& value = fields.at(name);
  if (!value.is_string()) return InvalidField(std::string(name), "must be a string");
  return std::string(std::string_view(value.get_string()));
}

// A path of the re-read manifest as the field of the update: "spec.jobName" is "name".
void NameFieldsOfUpdate(Error* error) {
  for (FieldError& one : error->fields) {
    if (one.field.starts_with("spec.")) one.field.erase(0, 5);
    for (const SpecField& field : kSpecFields) {
      if (one.field == field.spec) one.field = std::string(field.field);
    }
  }
}

// One update while it is read.
class UpdateReader {
 public:
  UpdateReader(const WorldView& view, const auth::Authorizer& authorizer,
               const auth::Principal& who, const JobRecord& job, const json::object& fields)
      : view_(view), authorizer_(authorizer), who_(who), job_(job), fields_(fields) {}

  // `manifest`: as it is stored.
  Result<JobUpdate> Read(const json::value& manifest) {
    update_.base_version = job_.resource_version;
    if (Status queue = TakeQueue(); !queue.ok()) return queue.error();
    update_.by_operator = IsOperator(authorizer_, who_, job_.cluster_queue) &&
                          IsOperator(authorizer_, who_, NextQueue());
    if (Status spec = TakeSpec(manifest); !spec.ok()) return spec.error();
    if (Status priority = TakePriority(); !priority.ok()) return priority.error();
    if (fields_.contains("arrayTaskThrottle")) {
      const json::value& throttle = fields_.at("arrayTaskThrottle");
      constexpr std::int64_t kThrottleMost = 4'000'000;
      if (!throttle.is_int64() || throttle.get_int64() < 0 || throttle.get_int64() > kThrottleMost)
        return InvalidField("arrayTaskThrottle", "must be a number of tasks; 0 for no limit");
      if (job_.batch->array_spec.empty())
        return InvalidField("arrayTaskThrottle", "the job is no array");
      update_.task_throttle = static_cast<std::int32_t>(throttle.get_int64());
    }
    return std::move(update_);
  }

 private:
  Status TakeQueue();
  Status TakeSpec(const json::value& manifest);
  Status TakePriority();
  Status CheckMovedPriority() const;
  Status CheckServedAgain(shapes::ParsedJob* parsed, json::object* filled) const;
  // The ClusterQueue that the job will wait in.
  const std::string& NextQueue() const {
    return update_.cluster_queue ? *update_.cluster_queue : job_.cluster_queue;
  }
  // An operator of the queue that the job leaves, and of the one that it goes to.
  Status OperatorsOnly(const char* field, const std::string& what) const {
    if (update_.by_operator) return Done{};
    const bool here = IsOperator(authorizer_, who_, job_.cluster_queue);
    Error error =
        MustBeOperator(authorizer_, who_, here ? NextQueue() : job_.cluster_queue, what).error();
    error.fields = {{field, error.detail}};
    return error;
  }

  const WorldView& view_;
  const auth::Authorizer& authorizer_;
  const auth::Principal& who_;
  const JobRecord& job_;
  const json::object& fields_;
  JobUpdate update_;
};

// The account is the ClusterQueue that the queue leads to: naming another one looks for a queue of
// the namespace that leads there.
Status UpdateReader::TakeQueue() {
  const ConfigView& config = *view_.config;
  const bool named = fields_.contains("queue"), account = fields_.contains("account");
  if (!named && !account) return Done{};
  std::string name = job_.local_queue, wanted;
  if (named) {
    const auto text = TextOf(fields_, "queue");
    if (!text.ok()) return text.error();
    name = *text;
  }
  if (account) {
    const auto text = TextOf(fields_, "account");
    if (!text.ok()) return text.error();
    wanted = *text;
  }
  auto queue = config.local_queues.find({job_.ns, name});
  if (queue == config.local_queues.end()) {
    return InvalidField(
        "queue", "LocalQueue \"" + name + "\" does not exist in namespace \"" + job_.ns + "\"");
  }
  if (account && !named && queue->second.cluster_queue != wanted) {
    queue =
        std::find_if(config.local_queues.begin(), config.local_queues.end(), [&](const auto& one) {
          return one.first.first == job_.ns && one.second.cluster_queue == wanted;
        });
    if (queue == config.local_queues.end())
      return InvalidField("account", "no LocalQueue of namespace \"" + job_.ns +
                                         "\" leads to ClusterQueue \"" + wanted + "\"");
  }
  if (account && queue->second.cluster_queue != wanted) {
    return InvalidField("account", "is \"" + wanted + "\", but LocalQueue \"" + queue->second.name +
                                       "\" feeds ClusterQueue \"" + queue->second.cluster_queue +
                                       "\"");
  }
  using State = PartitionProperties::State;
  const State state = queue->second.partition.state;
  if (state == State::kDrain || state == State::kInactive)
    return InvalidField("queue", "LocalQueue \"" + queue->second.name + "\" takes no jobs now");
  const bool several = job_.batch != nullptr && !job_.batch->partitions.empty();
  if (queue->second.name == job_.local_queue && !several) return Done{};
  update_.queue = queue->second.name;
  update_.cluster_queue = queue->second.cluster_queue;
  return Done{};
}

// What a submission checks beside the manifest, of a job that waits: afterwards it is decided, and
// what shapes it stays as it is. `filled`: the fields of the spec that the configuration has set.
Status UpdateReader::CheckServedAgain(shapes::ParsedJob* parsed, json::object* filled) const {
  if (job_.state != JobState::kPending && job_.state != JobState::kHeld) return Done{};
  const auto feeds = view_.config->cluster_queues.find(NextQueue());
  const Status served =
      CheckServed(*parsed, *view_.settings,
                  feeds == view_.config->cluster_queues.end() ? nullptr : &feeds->second);
  if (!served.ok()) return served;
  const json::object before = MakeObjectAt(parsed->manifest.get_object(), "spec");
  const shapes::QueueChoice queue{update_.queue ? *update_.queue : job_.local_queue, NextQueue(),
                                  job_.priority_class, job_.priority};
  const Status checked = CheckBatchScript(*view_.config, view_.clusters, job_.ns, queue, parsed);
  if (!checked.ok()) return checked;
  for (const auto& entry : MakeObjectAt(parsed->manifest.get_object(), "spec")) {
    const json::value* known = before.if_contains(entry.key());
    if (known == nullptr || *known != entry.value()) (*filled)[entry.key()] = entry.value();
  }
  return Done{};
}

Status UpdateReader::TakeSpec(const json::value& manifest) {
  json::object kept, passing;
  for (const auto& entry : fields_) {
    const SpecField* field = FindSpecField(entry.key());
    if (field != nullptr) (field->kept ? kept : passing)[field->spec] = entry.value();
  }
  ForgetOtherMemory(&kept);
  const bool moved = update_.queue.has_value();
  if (kept.empty() && passing.empty() && !moved) return Done{};
  std::string changed = shapes::AddChanges(BatchStateOf(job_).changed_spec, kept);
  json::value next = manifest;
  shapes::ShowChangedSpec(changed, &next);
  json::object& spec = MakeObjectAt(next.get_object(), "spec");
  // The account was judged with the queue.
  spec.erase("account");
  for (const auto& entry : passing) spec[entry.key()] = entry.value();
  Result<shapes::ParsedJob> parsed = shapes::ParseJob(std::move(next));
  if (!parsed.ok()) {
    Error error = parsed.error();
    NameFieldsOfUpdate(&error);
    return error;
  }
  const BatchState read = parsed->batch_state == nullptr ? BatchState{} : *parsed->batch_state;
  if (passing.contains("dependency")) update_.dependencies = read;
  if (passing.contains("begin")) update_.begin_at = read.begin_at;
  if (passing.contains("deadline")) update_.deadline = read.deadline;
  if (passing.contains("nice")) update_.nice = read.nice;
  if (kept.empty() && !moved) return Done{};
  const Status tenancy = CheckManifestTenancy(*view_.config, job_.ns, NextQueue(), *parsed);
  if (!tenancy.ok()) return tenancy.error();
  json::object filled;
  if (Status served = CheckServedAgain(&*parsed, &filled); !served.ok()) {
    NameFieldsOfUpdate(&served.error());
    return served;
  }
  if (kept.empty() && filled.empty()) return Done{};
  changed = shapes::AddChanges(changed, filled);
  const std::int64_t limit = parsed->time_limit_s, before = job_.time_limit_s;
  if (kept.contains("timeLimit") && before > 0 && (limit == 0 || limit > before)) {
    const Status may = OperatorsOnly("timeLimit", "raise a time limit");
    if (!may.ok()) return may;
  }
  Respecified out;
  out.resource_problem = shapes::PrepareRequests(*view_.config, *view_.settings, job_.ns, &*parsed);
  out.batch = std::move(parsed->batch);
  out.pod_sets = std::make_shared<const PodSets>(std::move(parsed->pod_sets));
  out.placement = std::move(parsed->placement);
  out.display_name = std::move(parsed->display_name);
  // A default of the partition is not in the manifest of a job that was submitted before it.
  out.time_limit_s = kept.contains("timeLimit") || limit > 0 ? limit : before;
  out.changed_spec = changed;
  update_.spec = std::move(out);
  return Done{};
}

// What an operator of the queue that it leaves gave it does not count in another one.
Status UpdateReader::CheckMovedPriority() const {
  if (!update_.cluster_queue || *update_.cluster_queue == job_.cluster_queue) return Done{};
  const BatchState& state = BatchStateOf(job_);
  const std::int64_t usual = update_.class_priority ? *update_.class_priority : job_.priority;
  if (state.own_priority && *state.own_priority > usual)
    return OperatorsOnly("priority", "take a raised priority to another queue");
  if (update_.nice.value_or(state.nice) < 0)
    return OperatorsOnly("nice", "take a negative nice value to another queue");
  return Done{};
}

Status UpdateReader::TakePriority() {
  if (update_.nice && *update_.nice < BatchStateOf(job_).nice) {
    const Status may = OperatorsOnly("nice", "lower a nice value");
    if (!may.ok()) return may;
  }
  if (fields_.contains("priorityClass")) {
    const auto name = TextOf(fields_, "priorityClass");
    if (!name.ok()) return name.error();
    const auto known = view_.config->priority_classes.find(*name);
    if (known == view_.config->priority_classes.end()) {
      return InvalidField("priorityClass",
                          "WorkloadPriorityClass \"" + *name + "\" does not exist");
    }
    const Status within = CheckPriorityCap(
        *view_.config, *view_.settings, job_.ns,
        {known->second.value, job_.priority_boost, "priorityClass"}, who_, authorizer_);
    if (!within.ok()) return within.error();
    update_.priority_class = *name;
    update_.class_priority = known->second.value;
  }
  if (!fields_.contains("priority")) return CheckMovedPriority();
  const json::value& value = fields_.at("priority");
  constexpr std::int64_t kPriorityMost = 4'294'967'294;
  if (value.is_null()) {
    update_.own_priority = std::optional<std::int64_t>();
    return Done{};
  }
  if (!value.is_int64() || value.get_int64() < 0 || value.get_int64() > kPriorityMost)
    return InvalidField("priority", "must be a number from 0 to 4294967294, or null");
  const std::int64_t priority = value.get_int64();
  const std::int64_t now = BatchStateOf(job_).own_priority.value_or(job_.priority);
  if (priority > now) {
    const Status may = OperatorsOnly("priority", "raise a priority");
    if (!may.ok()) return may;
  }
  update_.own_priority = std::optional<std::int64_t>(priority);
  return Done{};
}

}  // namespace

// The refusal does not tell a job that the caller may not see from one that does not exist.
Status SchedulerService::CheckDependencies(const auth::Principal& who,
                                           const BatchState& state) const {
  std::set<JobId> asked;
  for (const Dependency& one : state.dependencies) {
    if (one.type == DependencyType::kSingleton || !asked.insert(one.job).second) continue;
    const Result<JobPtr> job = FindJobById(one.job);
    if (!job.ok() && job.error().code != Code::kNotFound) return job.error();
    if (!job.ok() || !SeesJob(authorizer_, who, **job))
      return InvalidField("dependency", "Job dependency problem");
  }
  return Done{};
}

void SchedulerService::UpdateJob(const auth::Principal& who, const std::string& id,
                                 const json::object& fields, Callback<JobPtr> done) {
  const Result<WorldViewPtr> view = ReadyView();
  if (!view.ok()) return done(view.error());
  const Result<JobPtr> job = JobFor(who, id, auth::Verb::kUpdate);
  if (!job.ok()) return done(job.error());
  if ((*job)->batch == nullptr) {
    return done(Error{Code::kFailedPrecondition,
                      "job " + std::to_string((*job)->id.value) + " is no batch script"});
  }
  if (const Status known = OnlyKnown(fields); !known.ok()) return done(known.error());
  const Result<std::vector<std::string>> manifests = store_.ReadManifests({(*job)->id});
  if (!manifests.ok()) return done(manifests.error());
  const Result<json::value> manifest =
      manifests->empty() ? Result<json::value>(json::value()) : ParseJson(manifests->front());
  if (!manifest.ok()) return done(manifest.error());
  if (!manifest->is_object()) return done(Internal("the job's manifest cannot be read"));
  Result<JobUpdate> update = UpdateReader(**view, authorizer_, who, **job, fields).Read(*manifest);
  if (!update.ok()) return done(update.error());
  if (update->dependencies) {
    const Status parents = CheckDependencies(who, *update->dependencies);
    if (!parents.ok()) return done(parents.error());
  }
  UpdateJobCommand command;
  command.actor = ActorOf(who);
  command.job = (*job)->id;
  command.update = std::move(*update);
  // A task that waits in a record with others is changed alone.
  if (const auto ids = ParseTaskIds(id); ids && IsArrayRecord(**job)) command.tasks = ids->tasks;
  command.fields = NamesOf(fields);
  PostCommand<JobPtr>(engine_, std::move(command), std::move(done));
}

}  // namespace muster::api
