// Reads a scenario from documents in two passes: first configuration objects, in the order of
// shapes::Kinds(), so that an object finds the ones it refers to whatever their order in the file;
// then jobs, through the same parser and the same resolution of namespace, queue and requests as
// the daemon. Jobs are read only if all objects are right. Finally jobs are numbered in the order
// of their arrival.
#include "schedd/simulate/scenario.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "schedd/shapes/batch/array_spec.h"
#include "schedd/shapes/config/queue_objects.h"
#include "schedd/shapes/kinds/preparation.h"
#include "schedd/shapes/kinds/queue_choice.h"
#include "schedd/text/duration.h"
#include "schedd/text/lenient.h"

namespace muster::simulate {
namespace {

// Adds the errors of one document, with their fields below documents[i].
void AddErrors(std::size_t document, const Error& error, std::vector<FieldError>* errors) {
  const std::string prefix = "documents[" + std::to_string(document) + "]";
  if (error.fields.empty()) errors->push_back({prefix, error.detail});
  for (const FieldError& one : error.fields)
    errors->push_back({prefix + (one.field.empty() ? "" : "." + one.field), one.message});
}

// One error with all fields; its text is that of the first.
Error Refused(std::vector<FieldError> errors) {
  Error error = InvalidArgument(errors.front().field + ": " + errors.front().message);
  error.fields = std::move(errors);
  return error;
}

std::string AnnotationPath(std::string_view key) {
  return "metadata.annotations[" + std::string(key) + "]";
}

// The duration in an annotation of a job. `otherwise` is the value for jobs without it, which
// `flag` gives.
Result<std::int64_t> MicrosOf(const json::value& manifest, std::string_view key,
                              std::optional<std::int64_t> otherwise, const char* flag) {
  const json::value* text = FindValue(manifest, {"metadata", "annotations", key});
  if (text == nullptr) {
    if (otherwise) return *otherwise;
    return InvalidField(AnnotationPath(key),
                        std::string("is missing: give it, or a value for all jobs that do not "
                                    "say it (") +
                            flag + ")");
  }
  const auto ms =
      text->is_string() ? ParseDurationMs(std::string_view(text->get_string())) : std::nullopt;
  if (ms) return *ms * kMicrosPerMilli;
  return InvalidField(AnnotationPath(key), "must be a duration such as \"90s\" or \"1h30m\"");
}

// Reads one set of documents; one use per object.
class Reader {
 public:
  explicit Reader(const ReadOptions& options)
      : options_(options),
        config_(options.base != nullptr ? std::make_shared<ConfigView>(*options.base)
                                        : std::make_shared<ConfigView>()) {
    scenario_.settings = options.settings;
  }

  // Objects first, then jobs.
  Result<Scenario> Read(std::span<const json::value> documents) {
    ReadObjects(documents);
    for (std::size_t i = 0; i < documents.size() && errors_.empty(); ++i) {
      if (!shapes::IsConfigObject(documents[i])) Note(i, ReadJob(documents[i]));
    }
    if (!errors_.empty()) return Refused(std::move(errors_));
    scenario_.config = std::move(config_);
    NumberByArrival(&scenario_);
    return std::move(scenario_);
  }

 private:
  void Note(std::size_t document, const Status& status) {
    if (!status.ok()) AddErrors(document, status.error(), &errors_);
  }

  // Reads all configuration objects. Each is applied in the order of kinds, not of documents.
  void ReadObjects(std::span<const json::value> documents) {
    std::vector<std::pair<std::size_t, shapes::ParsedObject>> objects;
    for (std::size_t i = 0; i < documents.size(); ++i) {
      if (!shapes::IsConfigObject(documents[i])) continue;
      Result<shapes::ParsedObject> parsed = shapes::ParseObject(documents[i]);
      if (!parsed.ok()) {
        AddErrors(i, parsed.error(), &errors_);
        continue;
      }
      objects.emplace_back(i, std::move(*parsed));
    }
    NameSpace(options_.ns.empty() ? "default" : options_.ns);
    for (const shapes::KindInfo* kind : shapes::Kinds()) {
      for (auto& [i, object] : objects) {
        if (object.kind != kind->kind) continue;
        if (kind->namespaced && object.ns.empty()) Settle(&object);
        if (kind->namespaced) NameSpace(object.ns);
        Note(i, shapes::ApplyTo(config_.get(), object.kind, object.manifest));
      }
    }
  }

  // Puts a document that names no namespace into the default one.
  void Settle(shapes::ParsedObject* object) const {
    object->ns = options_.ns.empty() ? "default" : options_.ns;
    object->manifest.get_object()["metadata"].get_object()["namespace"] = object->ns;
  }

  // A namespace that is named and not declared exists.
  void NameSpace(const std::string& name) {
    if (config_->namespaces.contains(name)) return;
    const json::value manifest = {
        {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name}}}};
    const Status made = shapes::ApplyTo(config_.get(), ObjectKind::kNamespace, manifest);
    if (!made.ok()) errors_.push_back({"metadata.namespace", made.error().detail});
  }

  // Reads one job: its two annotations, then the job itself.
  Status ReadJob(const json::value& document) {
    const Result<std::int64_t> arrival =
        MicrosOf(document, kArrivalKey, options_.arrival_us, "--arrival");
    if (!arrival.ok()) return arrival.error();
    const Result<std::int64_t> run = MicrosOf(document, kRunTimeKey, options_.run_us, "--run-time");
    if (!run.ok()) return run.error();
    Result<shapes::ParsedJob> parsed = shapes::ParseJob(document);
    if (!parsed.ok()) return parsed.error();
    if (!parsed->ns.empty()) NameSpace(parsed->ns);
    return Accept(&*parsed, *arrival, *run);
  }

  // Makes the record that the daemon would make of the job, but for its number.
  Status Accept(shapes::ParsedJob* parsed, std::int64_t arrival_us, std::int64_t run_us) {
    const Result<std::string> ns = shapes::ResolveNamespace(*config_, options_.ns, parsed->ns);
    if (!ns.ok()) return ns.error();
    const Result<shapes::QueueChoice> queue = shapes::ResolveQueue(*config_, *ns, *parsed);
    if (!queue.ok()) return queue.error();
    JobRecord job;
    job.name = parsed->name.empty() ? parsed->generate_name : parsed->name;
    job.display_name = parsed->display_name.empty() ? job.name : parsed->display_name;
    job.ns = *ns;
    job.shape = parsed->shape;
    job.local_queue = queue->local_queue;
    job.cluster_queue = queue->cluster_queue;
    job.priority_class = queue->priority_class;
    job.priority = queue->priority;
    job.priority_boost = parsed->priority_boost;
    job.max_execution_s = parsed->max_execution_s;
    job.time_limit_s = parsed->time_limit_s;
    job.batch = parsed->batch;
    job.suspended_by_user = parsed->hold;
    if (parsed->hold) job.state = JobState::kHeld;
    AdmissionState state;
    state.resource_problem = shapes::PrepareRequests(*config_, *options_.settings, *ns, parsed);
    state.admission_gated_by = parsed->admission_gated_by;
    for (const std::string& gate : parsed->preemption_gates)
      state.preemption_gates.push_back({gate, false});
    if (!(state == AdmissionState{}))
      job.admission_state = std::make_shared<const AdmissionState>(std::move(state));
    job.pod_sets = std::make_shared<const PodSets>(std::move(parsed->pod_sets));
    return AddTasks(std::move(job), arrival_us, run_us);
  }

  // Adds one job, or one for each task of an array script.
  Status AddTasks(JobRecord job, std::int64_t arrival_us, std::int64_t run_us) {
    TaskRanges array = {{-1, -1, 1}};
    if (job.batch != nullptr && !job.batch->array_spec.empty()) {
      Result<shapes::ArraySpec> given = shapes::ParseArraySpec(job.batch->array_spec);
      if (!given.ok()) return given.error();
      if (given->throttle > 0) {
        return InvalidField("array", "a simulation starts as many tasks as fit: leave %" +
                                         std::to_string(given->throttle) + " out");
      }
      array = std::move(given->tasks);
    }
    if (options_.max_jobs > 0 && CountOf(array) > static_cast<std::int64_t>(options_.max_jobs)) {
      return InvalidArgument("more than " + std::to_string(options_.max_jobs) +
                             " jobs are too many for one simulation");
    }
    for (const std::int32_t task : TasksOf(array)) {
      if (options_.max_jobs > 0 && scenario_.jobs.size() >= options_.max_jobs) {
        return InvalidArgument("more than " + std::to_string(options_.max_jobs) +
                               " jobs are too many for one simulation");
      }
      JobRecord one = job;
      if (task >= 0) one.name += "-" + std::to_string(task);
      AddJob(std::move(one), arrival_us, run_us, &scenario_);
    }
    return Done{};
  }

  const ReadOptions& options_;
  std::shared_ptr<ConfigView> config_;
  Scenario scenario_;
  std::vector<FieldError> errors_;
};

}  // namespace

Result<Scenario> ReadScenario(std::span<const json::value> documents, const ReadOptions& options) {
  return Reader(options).Read(documents);
}

// Times of a scenario count from kClockStart.
void AddJob(JobRecord job, std::int64_t arrival_us, std::int64_t run_us, Scenario* scenario) {
  const WallTime arrival = kClockStart.Plus(arrival_us);
  job.submit_time = arrival;
  job.id = JobId{static_cast<std::int64_t>(scenario->jobs.size()) + 1};
  scenario->jobs.push_back({std::make_shared<const JobRecord>(std::move(job)), arrival, run_us});
}

// The sort is stable: jobs that arrive together keep the order of documents or lines.
void NumberByArrival(Scenario* scenario) {
  std::stable_sort(scenario->jobs.begin(), scenario->jobs.end(),
                   [](const SimJob& a, const SimJob& b) { return a.arrival < b.arrival; });
  std::int64_t number = 0;
  for (SimJob& sim : scenario->jobs) {
    auto job = std::make_shared<JobRecord>(*sim.job);
    job->id = JobId{++number};
    job->accept_seq = number;
    // Where Kueue breaks a tie by uid, the number decides here.
    job->uid = Uid{0x5113'0000'0000'4000ULL, static_cast<std::uint64_t>(number)};
    if (job->name.empty()) job->name = job->display_name = "job-" + std::to_string(number);
    sim.job = std::move(job);
  }
}

}  // namespace muster::simulate
