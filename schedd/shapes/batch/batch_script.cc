// The ops of kind BatchScript (shape_ops.h). Each node is a pod of pod set `main`, which is
// admitted as a gang; the script runs once, in the first pod (rule B8). Components of a
// heterogeneous job are further pod sets.
//
// On a member cluster a script of one node is a Job with one pod, of several an Indexed Job that
// has succeeded when its first pod has; a heterogeneous job is a JobSet with a replicated job for
// each component. The Job never retries (backoffLimit 0): a script that fails is a failed job, as
// in Slurm. Dependents are the ConfigMap with the script and, for several nodes, the headless
// Service under whose name their hosts resolve.
//
// The command does not name the mounted file directly, because a member cluster of local processes
// has no mounts: it tells the pod by an environment variable where the volume is.
#include "schedd/base/quantity.h"
#include "schedd/model/member_labels.h"
#include "schedd/model/node_choice.h"
#include "schedd/shapes/batch/batch_environment.h"
#include "schedd/shapes/batch/batch_manifest.h"
#include "schedd/shapes/batch/batch_spec.h"
#include "schedd/shapes/kinds/shape_list.h"
#include "schedd/shapes/kinds/shape_ops.h"
#include "schedd/shapes/parts/metadata.h"
#include "schedd/text/lenient.h"

namespace muster::shapes {
namespace {

constexpr char kVolume[] = "muster-batch";
constexpr char kScriptKey[] = "slurm_script";  // how a script's $0 ends under Slurm
constexpr int kExecutable = 0755;
constexpr std::int64_t kMegabyte = 1 << 20;
constexpr char kMainSet[] = "main";

// The pod set of a component; 0 is the one that runs the script.
std::string ComponentName(std::size_t index) {
  return index == 0 ? std::string(kMainSet) : "component-" + std::to_string(index);
}

// The fields that squeue and sacct show.
std::shared_ptr<BatchDetails> Details(const BatchSpec& spec) {
  auto details = std::make_shared<BatchDetails>();
  details->array_spec = spec.array_spec;
  details->work_dir = spec.work_dir;
  details->command = spec.command;
  details->std_out = OutputPattern(spec);
  details->std_err = spec.error.empty() ? details->std_out : spec.error;
  if (!details->std_err.empty() && details->std_err[0] != '/' && !spec.work_dir.empty()) {
    details->std_err = spec.work_dir + "/" + details->std_err;
  }
  details->std_in = spec.input;
  details->comment = spec.comment;
  details->nodes = spec.amounts.nodes;
  details->max_nodes = spec.amounts.max_nodes;
  details->tasks = spec.amounts.tasks;
  details->cpus_per_task = spec.amounts.cpus_per_task;
  details->tasks_per_node = spec.amounts.tasks_per_node;
  // 0 says that it was all memory of the node.
  if (!spec.amounts.whole_memory)
    details->mem_per_node_mb = (spec.amounts.memory_bytes + kMegabyte - 1) / kMegabyte;
  details->mem_per_cpu_mb = (spec.amounts.memory_per_cpu_bytes + kMegabyte - 1) / kMegabyte;
  details->gres = spec.gres;
  details->requeue = spec.requeue;
  details->features = spec.features;
  details->required_nodes = spec.required_nodes;
  details->excluded_nodes = spec.excluded_nodes;
  details->licenses = spec.licenses;
  details->reservation = spec.reservation;
  details->wckey = spec.wckey;
  details->mail_user = spec.mail_user;
  details->mail_events = spec.mail_events;
  details->submit_line = spec.submit_line;
  details->warning = spec.warning;
  details->time_min_s = spec.time_min_s;
  details->exclusive = spec.amounts.whole_cpus;
  details->allocation_only = spec.allocation_only;
  details->how = spec.how;
  details->how.insert(details->how.end(), spec.shown.begin(), spec.shown.end());
  for (std::size_t i = 0; i < spec.components.size(); ++i) {
    const BatchAmounts& one = spec.components[i];
    details->components.push_back(
        {ComponentName(i + 1), one.nodes, one.tasks, one.cpus_per_task});
  }
  return details;
}

// One pod for each node. Licences count as quota only: no member has any.
PodSet PodSetOf(std::string name, const BatchAmounts& amounts) {
  PodSet pods;
  pods.name = std::move(name);
  pods.count = amounts.nodes;
  pods.requests = amounts.requests;
  AddAmounts(&pods.requests, amounts.licenses);
  if (!amounts.gpu_type.empty()) {
    auto constraints = std::make_shared<SchedulingConstraints>();
    constraints->node_selector.emplace(kGpuTypeLabel, amounts.gpu_type);
    pods.constraints = std::move(constraints);
  }
  return pods;
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
  auto details = Details(spec);
  if (spec.state != BatchState{}) job->batch_state = std::make_shared<const BatchState>(spec.state);
  const std::string_view partitions =
      root["metadata"]["annotations"].Named(kPartitionsKey).StringOr("");
  if (!partitions.empty()) {
    job->queue = partitions;
    details->partitions = partitions;
  }
  job->batch = std::move(details);
  job->pod_sets.push_back(PodSetOf(ComponentName(0), spec.amounts));
  for (std::size_t i = 0; i < spec.components.size(); ++i)
    job->pod_sets.push_back(PodSetOf(ComponentName(i + 1), spec.components[i]));
}

// Limits equal requests, as in a Slurm that confines jobs.
json::object Resources(const ResourceList& requests) {
  json::object amounts;
  for (const auto& request : requests)
    amounts[request.resource] = FormatQuantity(request.resource, request.amount);
  return {{"requests", amounts}, {"limits", amounts}};
}

// Dollars are doubled, because Kubernetes expands $(NAME) in a command.
json::string WithoutExpansion(std::string_view text) {
  json::string out;
  for (const char c : text) out.append(c == '$' ? 2 : 1, c);
  return out;
}

// In single quotes for the shell.
std::string ShellQuoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else
      out.push_back(c);
  }
  return out + "'";
}

constexpr std::string_view kAgent = "\"${MUSTER_STEP_AGENT:-muster-step-agent}\"";

// What the other pods run: the agent that waits for srun. Pods without a common directory for their
// agents only keep the node until the script has ended; the first process of a pod is ended by no
// signal that it does not handle.
std::string OtherNodeText() {
  return "[ -z \"$MUSTER_STEPS_DIR\" ] || exec " + std::string(kAgent) +
         " serve\n"
         "trap 'exit 0' TERM INT\n"
         "while :; do sleep 3600 & wait $!; done\n";
}

// What the first pod's shell runs. Exported functions of bash are put into the environment by env:
// their names are no names of variables, so neither a pod nor a plain shell can carry them. Where
// the member tells when the job began and who it is, no program is started to ask.
std::string RunText(const json::object& own, const BatchSpec& spec, bool runs_script,
                    bool has_tools) {
  if (!runs_script) return OtherNodeText();
  std::string text;
  if (spec.amounts.nodes > 1)
    text += "if [ \"${JOB_COMPLETION_INDEX:-0}\" != 0 ]; then\n" + OtherNodeText() + "fi\n";
  if (!spec.umask.empty()) text += "umask " + spec.umask + "\n";
  if (has_tools) {
    const std::string tools(kToolsPath);
    text += "[ ! -d " + tools + "/slurm ] || export PATH=\"" + tools + "/slurm:" + tools +
            ":$PATH\"\n";
  }
  text +=
      "SLURM_TASK_PID=$$ SLURM_JOB_START_TIME=${MUSTER_JOB_START:-$(date +%s)}\n"
      "unset MUSTER_JOB_START\n"
      ": \"${SLURM_JOB_UID:=$(id -u)}\" \"${SLURM_JOB_GID:=$(id -g)}\"\n"
      "export SLURM_TASK_PID SLURM_JOB_START_TIME SLURM_JOB_UID SLURM_JOB_GID\n";
  if (spec.time_limit_s > 0) {
    text += "export SLURM_JOB_END_TIME=$((SLURM_JOB_START_TIME+" +
            std::to_string(spec.time_limit_s) + "))\n";
  }
  text += "exec ";
  std::string functions;
  for (const auto& variable : ObjectOrEmpty(own, "environment")) {
    const std::string_view name = variable.key();
    if (!IsShellFunction(name)) continue;
    functions += " " + ShellQuoted(std::string(name) + "=" +
                                   std::string(std::string_view(variable.value().as_string())));
  }
  if (!functions.empty()) text += "env" + functions + " ";
  if (spec.allocation_only) return text + std::string(kAgent) + " allocation";
  return text + "\"${MUSTER_VOLUME_MUSTER_BATCH:-/tmp/muster-batch}/" + kScriptKey + "\" \"$@\"";
}

json::array Command(const json::object& own, const BatchSpec& spec, bool runs_script,
                    bool has_tools) {
  json::array command = {"/bin/sh", "-c",
                         WithoutExpansion(RunText(own, spec, runs_script, has_tools)), kScriptKey};
  if (!runs_script) return command;
  for (const auto& argument : ArrayOrEmpty(own, "arguments"))
    command.push_back(WithoutExpansion(argument.as_string()));
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

// The names of the hosts of one component, joined by commas.
std::string Joined(const std::vector<std::string>& hosts) {
  std::string text;
  for (const std::string& host : hosts) text += (text.empty() ? "" : ",") + host;
  return text;
}

// What a member cluster needs to know of a batch script's pod: those of local processes what its
// world is like, those with images what its queue gives it (backends/k8s/batch_pods.h).
json::object PodAnnotations(const json::object& own, const BatchSpec& spec,
                            const RenderContext& context, std::size_t component,
                            bool runs_script) {
  const std::vector<std::vector<std::string>> groups = HostGroups(context.job, spec);
  json::object annotations =
      runs_script ? StreamAnnotations(spec, context.job) : json::object();
  annotations["muster.io/batch"] = "true";
  annotations["muster.io/hosts"] = Joined(groups[component]);
  if (groups.size() > 1) {
    std::vector<std::string> all;
    for (const auto& group : groups) all.insert(all.end(), group.begin(), group.end());
    annotations["muster.io/all-hosts"] = Joined(all);
  }
  if (!context.tools_image.empty())
    annotations[kToolsImageAnnotation] = json::string(context.tools_image);
  if (!context.shared_directories.empty())
    annotations[kSharedDirectoriesAnnotation] = json::string(context.shared_directories);
  if (!spec.umask.empty()) annotations["muster.io/umask"] = spec.umask;
  if (const json::object& limits = ObjectOrEmpty(own, "limits"); !limits.empty())
    annotations["muster.io/limits"] = WriteJson(limits);
  if (spec.warning.signal > 0) {
    annotations["muster.io/signal"] = (spec.warning.batch_only ? "B:" : "") +
                                      std::to_string(spec.warning.signal) + "@" +
                                      std::to_string(spec.warning.seconds_before);
  }
  if (spec.time_limit_s > 0)
    annotations["muster.io/time-limit-s"] = std::to_string(spec.time_limit_s);
  return annotations;
}

// Names of --nodelist and --exclude that are not the member's own are names of its machines.
void AddMachineNames(const BatchSpec& spec, const std::string& cluster, json::object* pod) {
  json::array expressions;
  const auto add = [&](const std::string& list, const char* op) {
    json::array names;
    for (const std::string& name : NodeNames(list)) {
      if (name != cluster) names.push_back(json::string(name));
    }
    if (names.empty()) return;
    expressions.push_back(json::object{
        {"key", "kubernetes.io/hostname"}, {"operator", op}, {"values", std::move(names)}});
  };
  add(spec.required_nodes, "In");
  add(spec.excluded_nodes, "NotIn");
  if (expressions.empty()) return;
  json::object term = {{"matchExpressions", std::move(expressions)}};
  json::object required = {{"nodeSelectorTerms", json::array{std::move(term)}}};
  (*pod)["affinity"] = json::object{
      {"nodeAffinity",
       json::object{{"requiredDuringSchedulingIgnoredDuringExecution", std::move(required)}}}};
}

// The pod template of one component.
json::object TemplateOf(const json::object& own, const BatchSpec& spec,
                        const RenderContext& context, std::size_t component,
                        const std::string& config_map) {
  const JobRecord& job = context.job;
  const BatchAmounts& amounts = component == 0 ? spec.amounts : spec.components[component - 1];
  const bool runs_script = component == 0;
  const json::string image(context.image.empty() ? kHostImage : context.image);
  json::object container = {
      {"name", kBatchContainer},
      {"image", image},
      {"command", Command(own, spec, runs_script, !context.tools_image.empty())},
      {"env", BatchEnvironment(job, own, spec, component)},
      {"resources", Resources(amounts.requests)}};
  if (!spec.work_dir.empty()) container["workingDir"] = spec.work_dir;
  json::object pod = {{"restartPolicy", "Never"}};
  if (!spec.allocation_only) {
    json::object mount = {{"name", kVolume}, {"mountPath", kBatchVolumePath}, {"readOnly", true}};
    container["volumeMounts"] = json::array{std::move(mount)};
    json::object volume = {{"name", kVolume},
                           {"configMap", {{"name", config_map}, {"defaultMode", kExecutable}}}};
    pod["volumes"] = json::array{std::move(volume)};
  }
  pod["containers"] = json::array{std::move(container)};
  if (!amounts.gpu_type.empty())
    pod["nodeSelector"] = json::object{{kGpuTypeLabel, amounts.gpu_type}};
  AddMachineNames(spec, job.cluster, &pod);
  const std::string service = RemoteObjectOf(job).name;
  const bool gang = amounts.nodes > 1 || !spec.components.empty();
  if (gang) {
    // Short names of the job's hosts are looked up below its Service.
    const std::string domain = service + "." + job.ns + ".svc.cluster.local";
    pod["subdomain"] = service;
    pod["dnsConfig"] = json::object{{"searches", json::array{json::string(domain)}}};
  }
  // The pods of an Indexed Job are named by their numbers.
  const bool indexed = amounts.nodes > 1 || component > 0;
  if (!indexed && job.cluster.size() <= 63 && job.cluster.find('.') == std::string::npos)
    pod["hostname"] = job.cluster;
  json::object annotations = PodAnnotations(own, spec, context, component, runs_script);
  return {{"metadata", {{"annotations", std::move(annotations)}}}, {"spec", std::move(pod)}};
}

// The Job of one component. A Job of several pods is over when the first pod is.
json::object JobSpecOf(const json::object& own, const BatchSpec& spec,
                       const RenderContext& context, std::size_t component,
                       const std::string& config_map) {
  const BatchAmounts& amounts = component == 0 ? spec.amounts : spec.components[component - 1];
  json::object job_spec = {{"parallelism", amounts.nodes},
                           {"completions", amounts.nodes},
                           {"backoffLimit", 0}};
  if (amounts.nodes > 1 || component > 0) job_spec["completionMode"] = "Indexed";
  if (amounts.nodes > 1 && component == 0) {
    json::object first = {{"succeededIndexes", "0"}};
    job_spec["successPolicy"] = json::object{{"rules", json::array{std::move(first)}}};
  }
  // The script's own limit (-t) only; the maximum execution time is enforced by Muster: README.md,
  // "Time limits".
  if (spec.time_limit_s > 0) job_spec["activeDeadlineSeconds"] = spec.time_limit_s;
  job_spec["template"] = TemplateOf(own, spec, context, component, config_map);
  return job_spec;
}

// A JobSet with one replicated job for each component; it is over when the first one is.
json::object JobSetSpecOf(const json::object& own, const BatchSpec& spec,
                          const RenderContext& context, const std::string& config_map) {
  json::array jobs;
  for (std::size_t i = 0; i <= spec.components.size(); ++i) {
    json::object job_template = {{"spec", JobSpecOf(own, spec, context, i, config_map)}};
    jobs.push_back(json::object{{"name", ComponentName(i)},
                                {"replicas", 1},
                                {"template", std::move(job_template)}});
  }
  json::object success = {{"operator", "All"},
                          {"targetReplicatedJobs", json::array{json::string(kMainSet)}}};
  return {{"suspend", context.suspended},
          {"successPolicy", std::move(success)},
          {"failurePolicy", json::object{{"maxRestarts", 0}}},
          {"network", json::object{{"enableDNSHostnames", true},
                                   {"subdomain", RemoteObjectOf(context.job).name}}},
          {"replicatedJobs", std::move(jobs)}};
}

// The Service without an address under which the hosts of a job of several nodes are found. A
// JobSet makes its own.
RenderedObject HostsService(const JobRecord& job) {
  const std::string name = RemoteObjectOf(job).name;
  json::object selector = {{kJobUidLabel, job.uid.ToString()}};
  json::object spec = {{"clusterIP", "None"},
                       {"publishNotReadyAddresses", true},
                       {"selector", std::move(selector)}};
  json::object service = {{"apiVersion", "v1"},
                          {"kind", "Service"},
                          {"metadata", {{"name", name}, {"namespace", job.ns}}},
                          {"spec", std::move(spec)}};
  return {"v1", "Service", job.ns, name, std::move(service)};
}

// The manifest has no pod template: a script refers to no other object by itself.
void VisitTemplates(json::object&, const TemplateVisitor&) {}

// Replaces the manifest by the Job and adds the ConfigMap with the script to `dependents`.
void Prepare(json::object& manifest, const RenderContext& context,
             std::vector<RenderedObject>* dependents) {
  const JobRecord& job = context.job;
  const json::value copy = manifest;
  Problems problems;
  const BatchSpec spec = ReadBatchSpec(Field(copy, &problems)["spec"]);
  const json::object& own = copy.at("spec").as_object();
  const std::string config_map = RemoteObjectOf(job).name + "-script";
  if (!spec.allocation_only) {
    json::object data = {{kScriptKey, own.at("script")}};
    json::object map = {{"apiVersion", "v1"},
                        {"kind", "ConfigMap"},
                        {"metadata", {{"name", config_map}, {"namespace", job.ns}}},
                        {"data", std::move(data)}};
    dependents->push_back({"v1", "ConfigMap", job.ns, config_map, std::move(map)});
  }
  if (!spec.components.empty()) {
    manifest["apiVersion"] = "jobset.x-k8s.io/v1alpha2";
    manifest["kind"] = "JobSet";
    manifest["spec"] = JobSetSpecOf(own, spec, context, config_map);
    return;
  }
  if (spec.amounts.nodes > 1) dependents->push_back(HostsService(job));
  manifest["apiVersion"] = "batch/v1";
  manifest["kind"] = "Job";
  json::object job_spec = JobSpecOf(own, spec, context, 0, config_map);
  job_spec["suspend"] = context.suspended;
  manifest["spec"] = std::move(job_spec);
}

}  // namespace

const ShapeOps kBatchScriptOps = {ShapeKind::kBatchScript, Parse, VisitTemplates, Prepare};

}  // namespace muster::shapes
