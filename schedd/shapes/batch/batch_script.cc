// The ops of kind BatchScript (shape_ops.h): one pod set `main` of one pod that runs the script
// once (rule B8). On a member cluster it is a Job whose pod mounts the script from a ConfigMap;
// both are rendered by Prepare. The Job never retries (backoffLimit 0): a script that fails is a
// failed job, as in Slurm.
//
// The command does not name the mounted file directly, because a member cluster of local processes
// has no mounts: it tells the pod by an environment variable where the volume is.
#include "schedd/base/quantity.h"
#include "schedd/model/member_labels.h"
#include "schedd/shapes/batch/batch_environment.h"
#include "schedd/shapes/batch/batch_spec.h"
#include "schedd/shapes/kinds/shape_list.h"
#include "schedd/shapes/kinds/shape_ops.h"
#include "schedd/shapes/parts/metadata.h"
#include "schedd/text/lenient.h"

namespace muster::shapes {
namespace {

constexpr char kVolume[] = "muster-batch";
constexpr char kMountPath[] = "/tmp/muster-batch";
constexpr char kScriptKey[] = "script";
constexpr int kExecutable = 0755;
constexpr std::int64_t kMegabyte = 1 << 20;

// Runs the script with its arguments; the variable is set where volumes are not mounted.
constexpr char kRun[] = "exec \"${MUSTER_VOLUME_MUSTER_BATCH:-/tmp/muster-batch}/script\" \"$@\"";

// The fields that squeue and sacct show.
std::shared_ptr<const BatchDetails> Details(const BatchSpec& spec) {
  auto details = std::make_shared<BatchDetails>();
  details->array_spec = spec.array_spec;
  details->work_dir = spec.work_dir;
  details->command = spec.command;
  details->std_out = OutputPattern(spec);
  details->std_err = spec.error.empty() ? details->std_out : spec.error;
  if (!details->std_err.empty() && details->std_err[0] != '/' && !spec.work_dir.empty()) {
    details->std_err = spec.work_dir + "/" + details->std_err;
  }
  details->comment = spec.comment;
  details->tasks = spec.amounts.tasks;
  details->cpus_per_task = spec.amounts.cpus_per_task;
  details->mem_per_node_mb = (spec.amounts.memory_bytes + kMegabyte - 1) / kMegabyte;
  details->gres = spec.gres;
  details->requeue = spec.requeue;
  return details;
}

// The shorter of --time and the label max-exec-time-seconds is the job's time limit.
void Parse(const Field& root, ParsedJob* job) {
  root.OnlyMembers({"apiVersion", "kind", "metadata", "spec", "status"});
  ReadJobMetadata(root, {.may_be_absent = true}, job);
  const Field field = root["spec"];
  if (!field.Require() || field.Object() == nullptr) return;
  const BatchSpec spec = ReadBatchSpec(field);
  job->display_name = spec.job_name;
  if (spec.time_limit_s > 0 && (job->time_limit_s == 0 || spec.time_limit_s < job->time_limit_s)) {
    job->time_limit_s = spec.time_limit_s;
  }
  job->hold = spec.hold;
  if (!spec.account.empty()) job->expected_cluster_queue = spec.account;
  job->batch = Details(spec);
  PodSet main;
  main.name = "main";
  main.count = 1;
  main.requests = spec.amounts.requests;
  job->pod_sets.push_back(std::move(main));
}

// Limits equal requests, as in a Slurm that confines jobs.
json::object Resources(const ResourceList& requests) {
  json::object amounts;
  for (const auto& request : requests)
    amounts[request.resource] = FormatQuantity(request.resource, request.amount);
  return {{"requests", amounts}, {"limits", amounts}};
}

// Dollars in arguments are doubled, because Kubernetes expands $(NAME) in a command.
json::array Command(const json::object& spec) {
  json::array command = {"/bin/sh", "-c", kRun, kScriptKey};
  for (const auto& argument : ArrayOrEmpty(spec, "arguments")) {
    std::string text;
    for (const char c : argument.as_string()) text.append(c == '$' ? 2 : 1, c);
    command.push_back(json::string(text));
  }
  return command;
}

// Where the streams of the script go; a member cluster of local processes reads these annotations.
json::object StreamAnnotations(const BatchSpec& spec, const JobRecord& job) {
  json::object annotations;
  const std::string output = OutputPattern(spec);
  if (!output.empty()) annotations["muster.io/stdout-path"] = ExpandPattern(output, job);
  if (!spec.error.empty()) annotations["muster.io/stderr-path"] = ExpandPattern(spec.error, job);
  if (!spec.input.empty()) annotations["muster.io/stdin-path"] = ExpandPattern(spec.input, job);
  if (!spec.open_mode.empty()) annotations["muster.io/open-mode"] = spec.open_mode;
  return annotations;
}

json::object PodSpec(const json::object& own, const BatchSpec& spec, const RenderContext& context,
                     const std::string& config_map) {
  const JobRecord& job = context.job;
  const json::string image(context.image.empty() ? kHostImage : context.image);
  json::object mount = {{"name", kVolume}, {"mountPath", kMountPath}, {"readOnly", true}};
  json::object container = {{"name", kBatchContainer},
                            {"image", image},
                            {"command", Command(own)},
                            {"env", BatchEnvironment(job, own, spec)},
                            {"resources", Resources(spec.amounts.requests)},
                            {"volumeMounts", json::array{std::move(mount)}}};
  if (!spec.work_dir.empty()) container["workingDir"] = spec.work_dir;
  json::object volume = {{"name", kVolume},
                         {"configMap", {{"name", config_map}, {"defaultMode", kExecutable}}}};
  return {{"restartPolicy", "Never"},
          {"containers", json::array{std::move(container)}},
          {"volumes", json::array{std::move(volume)}}};
}

// The manifest has no pod template: a script refers to no other object by itself.
void VisitTemplates(json::object&, const TemplateVisitor&) {}

// Replaces the manifest by the Job and adds the ConfigMap with the script to `dependents`.
void Prepare(json::object& manifest, const RenderContext& context,
             std::vector<RenderedObject>* dependents) {
  const json::value copy = manifest;
  Problems problems;
  const BatchSpec spec = ReadBatchSpec(Field(copy, &problems)["spec"]);
  const json::object& own = copy.at("spec").as_object();
  const std::string config_map = RemoteObjectOf(context.job).name + "-script";
  json::object pod = PodSpec(own, spec, context, config_map);
  json::object job_spec = {{"parallelism", 1},
                           {"completions", 1},
                           {"backoffLimit", 0},
                           {"suspend", context.suspended},
                           {"template",
                            {{"metadata", {{"annotations", StreamAnnotations(spec, context.job)}}},
                             {"spec", std::move(pod)}}}};
  // The script's own limit (-t) only; the maximum execution time is enforced by Muster: README.md,
  // "Time limits".
  if (spec.time_limit_s > 0) job_spec["activeDeadlineSeconds"] = spec.time_limit_s;
  json::object data = {{kScriptKey, own.at("script")}};
  json::object map = {{"apiVersion", "v1"},
                      {"kind", "ConfigMap"},
                      {"metadata", {{"name", config_map}, {"namespace", context.job.ns}}},
                      {"data", std::move(data)}};
  dependents->push_back({"v1", "ConfigMap", context.job.ns, config_map, std::move(map)});
  manifest["apiVersion"] = "batch/v1";
  manifest["kind"] = "Job";
  manifest["spec"] = std::move(job_spec);
}

}  // namespace

const ShapeOps kBatchScriptOps = {ShapeKind::kBatchScript, Parse, VisitTemplates, Prepare};

}  // namespace muster::shapes
