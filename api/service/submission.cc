// Builds the record (the draft) and the stored manifest of a new job. Steps: parse the body;
// resolve namespace, LocalQueue and priority class; refuse what the namespace and the queue do not
// allow (tenancy.h) and what no part of this daemon carries out (unserved.h); complete the pods'
// requests (limit ranges, runtime classes, transformations); fill the record; choose a name.
//
// Namespace: that of the path and that of the manifest must agree, neither means `default`, and it
// must exist. A batch script's --job-name is free text and repeats, so it is kept as the display
// name and the object is named job-NUMBER by the engine.
//
// Idempotency: the fingerprint covers the body and its scope (user and namespace), so a key that
// comes with another body is told from a repeat.
#include "api/service/submission.h"

#include <utility>

#include "api/service/batch_checks.h"
#include "api/service/fingerprint.h"
#include "api/service/operators.h"
#include "api/service/partition_defaults.h"
#include "api/service/registered_member.h"
#include "api/service/tenancy.h"
#include "api/service/unserved.h"
#include "schedd/base/limits.h"
#include "schedd/base/name_list.h"
#include "schedd/shapes/batch/array_spec.h"
#include "schedd/shapes/batch/batch_manifest.h"
#include "schedd/shapes/kinds/preparation.h"
#include "schedd/text/json.h"
#include "schedd/text/lenient.h"

namespace muster::api {
namespace {

constexpr const char* kDefault = "default";

// Writes a generated name into the manifest.
void SetMetadataName(json::value* manifest, const std::string& name) {
  if (!manifest->is_object()) return;
  MakeObjectAt(manifest->get_object(), "metadata")["name"] = name;
}

}  // namespace

std::string GeneratedName(std::string_view base, Random& random) {
  static constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::string name(base.substr(0, 58));
  std::uint64_t bits = random.Next();
  for (int i = 0; i < 5; ++i) {
    name.push_back(kAlphabet[bits % kAlphabet.size()]);
    bits /= kAlphabet.size();
  }
  return name;
}

bool IsGivenName(std::string_view name) {
  return name.starts_with("job-") && name.size() > 4 &&
         name.find_first_not_of("0123456789", 4) == std::string_view::npos;
}

Result<shapes::ParsedJob> ParseBody(json::value body, std::string_view ns, WallTime now) {
  if (!body.is_object())
    return InvalidArgument("a job is a JSON object: a manifest, or {\"script\": ...}");
  const json::object& object = body.get_object();
  if (!shapes::IsBatchForm(body)) {
    return shapes::ParseJob(std::move(body));
  }
  Result<json::value> manifest =
      shapes::BatchScriptManifest(object, ns.empty() ? std::string_view(kDefault) : ns, now);
  if (!manifest.ok()) return manifest.error();
  return shapes::ParseJob(std::move(*manifest));
}

Result<std::vector<Submission>> SubmissionBuilder::Build(const std::string& ns, json::value body,
                                                         const std::string& idempotency_key) {
  if (idempotency_key.size() > limits::kIdempotencyKeyBytes) {
    return InvalidArgument("the idempotency key is longer than " +
                           std::to_string(limits::kIdempotencyKeyBytes) + " bytes");
  }
  // Taken before the body is parsed and moved.
  const std::uint64_t body_fingerprint = idempotency_key.empty() ? 0 : FingerprintOf(body);
  Result<shapes::ParsedJob> parsed = ParseBody(std::move(body), ns, now_);
  if (!parsed.ok()) return parsed.error();
  Result<std::vector<Submission>> built = BuildParsed(ns, std::move(parsed).value());
  if (!built.ok() || idempotency_key.empty()) return built;

  const std::string scope = who_.user + "/" + built->front().draft->ns;
  const std::uint64_t fingerprint = AddFingerprint(body_fingerprint, scope);
  built->front().idempotency = IdempotencyKey{scope, idempotency_key, fingerprint};
  return built;
}

Result<std::vector<Submission>> SubmissionBuilder::BuildParsed(const std::string& ns,
                                                               shapes::ParsedJob parsed) {
  const bool generated = parsed.name.empty() && !parsed.generate_name.empty();
  Result<std::shared_ptr<JobRecord>> draft = Draft(ns, &parsed);
  if (!draft.ok()) return draft.error();
  json::value manifest = std::move(parsed.manifest);
  if (const Status array = TakeArray(draft->get()); !array.ok()) return array.error();
  if (generated) SetMetadataName(&manifest, (*draft)->name);
  Submission submission;
  submission.manifest = WriteJson(manifest);
  if (submission.manifest.size() > limits::kManifestBytes) {
    return InvalidArgument("the manifest has " + std::to_string(submission.manifest.size()) +
                           " bytes; the limit is " + std::to_string(limits::kManifestBytes));
  }
  submission.draft = std::move(*draft);
  submission.config_version = config_.version;
  std::vector<Submission> out;
  out.push_back(std::move(submission));
  return out;
}

namespace {

// The ClusterQueues that may take the job: that of its queue, and those of the other partitions of
// a batch script (`-p a,b`).
std::vector<std::string> FedQueues(const ConfigView& config, const std::string& ns,
                                   const QueueChoice& chosen, const shapes::ParsedJob& job) {
  std::vector<std::string> fed = {chosen.cluster_queue};
  if (job.batch == nullptr) return fed;
  for (const std::string_view name : NamesIn(job.batch->partitions)) {
    const auto queue = config.local_queues.find({ns, std::string(name)});
    if (queue != config.local_queues.end()) fed.push_back(queue->second.cluster_queue);
  }
  return fed;
}

// The account that the job runs as on local members (rule U60). Root's only if the kernel named
// root: a token, a munge credential of another host or an impersonation does not make root.
std::optional<std::uint32_t> JobAccountOf(const auth::Principal& who) {
  const bool by_kernel =
      (who.method == "unix" || who.method == "loopback") && who.impersonator.empty();
  return who.uid == 0U && !by_kernel ? std::nullopt : who.uid;
}

// The admission state of a new job; null if the manifest asks for nothing that it would hold.
// `problem` says why the job may not be admitted with its requests; "" if it may.
AdmissionStatePtr AdmissionStateOf(const shapes::ParsedJob& parsed, std::string problem) {
  if (parsed.admission_gated_by.empty() && parsed.preemption_gates.empty() && problem.empty())
    return nullptr;
  auto state = std::make_shared<AdmissionState>();
  state->resource_problem = std::move(problem);
  state->admission_gated_by = parsed.admission_gated_by;
  for (const std::string& gate : parsed.preemption_gates)
    state->preemption_gates.push_back({gate, false});
  return state;
}

}  // namespace

// Makes the record of a new job. Takes pod sets and details out of `parsed`; the manifest stays
// there.
Result<std::shared_ptr<JobRecord>> SubmissionBuilder::Draft(const std::string& ns,
                                                            shapes::ParsedJob* parsed) {
  Result<std::string> resolved = ResolveNamespace(config_, ns, parsed->ns);
  if (!resolved.ok()) return resolved.error();
  if (*resolved == kSystemNamespace) {
    return Error{Code::kPermissionDenied,
                 std::string("namespace \"") + kSystemNamespace + "\" takes no jobs"};
  }
  Result<QueueChoice> queue = ResolveQueue(config_, *resolved, *parsed);
  if (!queue.ok()) return queue.error();
  const bool script = parsed->shape == ShapeKind::kBatchScript;
  const Status defaults = ApplyPartitionDefaults(
      config_.local_queues.at({*resolved, queue->local_queue}).partition, parsed);
  if (!defaults.ok()) return defaults.error();
  if (parsed->name.empty() && parsed->generate_name.empty() && !script) {
    return InvalidField("metadata.name", "is required");
  }
  if (script && IsGivenName(parsed->name)) {
    return InvalidField("metadata.name",
                        "job-NUMBER is the name that a batch script gets from its id: leave the "
                        "name out or choose another");
  }
  const Status within = CheckPriorityCap(
      config_, settings_, *resolved,
      {queue->priority, parsed->priority_boost,
       script ? "priorityClass" : "metadata.labels[kueue.x-k8s.io/priority-class]"},
      who_, authorizer_);
  if (!within.ok()) return within.error();
  for (const std::string& fed : FedQueues(config_, *resolved, *queue, *parsed)) {
    const Status tenancy = CheckManifestTenancy(config_, *resolved, fed, *parsed);
    if (!tenancy.ok()) return tenancy.error();
  }
  // The ClusterQueue may not exist yet: then the job is accepted and waits.
  const auto feeds = config_.cluster_queues.find(queue->cluster_queue);
  const Status served = CheckServed(
      *parsed, settings_, feeds == config_.cluster_queues.end() ? nullptr : &feeds->second);
  if (!served.ok()) return served.error();
  const Status checked = CheckBatchScript(config_, members_, *resolved, *queue, parsed);
  if (!checked.ok()) return checked.error();
  std::string problem = shapes::PrepareRequests(config_, settings_, *resolved, parsed);
  auto draft = std::make_shared<JobRecord>();
  draft->uid = Uid::Make(random_);
  draft->ns = std::move(*resolved);
  draft->user = who_.user;
  draft->account = JobAccountOf(who_);
  draft->shape = parsed->shape;
  draft->local_queue = std::move(queue->local_queue);
  draft->cluster_queue = std::move(queue->cluster_queue);
  draft->priority_class = std::move(queue->priority_class);
  draft->priority = queue->priority;
  // Equal pod sets of different jobs become one object.
  draft->pod_sets = pod_sets_.Share(std::move(parsed->pod_sets));
  draft->time_limit_s = parsed->time_limit_s;
  draft->priority_boost = parsed->priority_boost;
  draft->max_execution_s = parsed->max_execution_s;
  draft->elastic = parsed->elastic && settings_.elastic_jobs;
  draft->admission_state = AdmissionStateOf(*parsed, std::move(problem));
  draft->ttl_after_finished_s = parsed->ttl_after_finished_s;
  draft->batch = std::move(parsed->batch);
  draft->batch_state = std::move(parsed->batch_state);
  draft->placement = std::move(parsed->placement);
  draft->suspended_by_user = parsed->hold;
  draft->state = parsed->hold ? JobState::kHeld : JobState::kPending;
  Name(draft.get(), *parsed);
  const Status asked = CheckAskedPriority(authorizer_, who_, *draft);
  if (!asked.ok()) return asked.error();
  return draft;
}

void SubmissionBuilder::Name(JobRecord* draft, const shapes::ParsedJob& parsed) {
  if (!parsed.name.empty()) {
    draft->name = parsed.name;
  } else if (!parsed.generate_name.empty()) {
    draft->name = GeneratedName(parsed.generate_name, random_);
  }
  // Without either the engine names the job after its id.
  draft->display_name = parsed.display_name.empty() ? draft->name : parsed.display_name;
}

// An array is one job, whose record stands for all tasks that wait, and one manifest.
Status SubmissionBuilder::TakeArray(JobRecord* draft) {
  if (draft->batch == nullptr || draft->batch->array_spec.empty()) return Done{};
  const Result<shapes::ArraySpec> spec = shapes::ParseArraySpec(draft->batch->array_spec);
  if (!spec.ok()) return spec.error();
  if (!draft->name.empty()) {
    return InvalidField("metadata.name",
                        "the tasks of an array are named after their ids: leave the name out");
  }
  auto state = std::make_shared<BatchState>(BatchStateOf(*draft));
  state->waiting_tasks = spec->tasks;
  state->task_throttle = spec->throttle;
  draft->batch_state = std::move(state);
  return Done{};
}

}  // namespace muster::api
