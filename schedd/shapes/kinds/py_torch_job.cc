// PyTorchJob: pod sets `master` and `worker`, in this order, of `replicas` pods each (rule A6). The
// checks are those of the training operator's validation. Workers may be 0, as templates write it
// for "master only"; they then make no pod set.
#include "schedd/shapes/kinds/shape_list.h"
#include "schedd/shapes/kinds/shape_ops.h"
#include "schedd/shapes/parts/metadata.h"
#include "schedd/text/lenient.h"

namespace muster::shapes {
namespace {

struct ReplicaType {
  const char* key;
  const char* pod_set;
};
constexpr ReplicaType kReplicaTypes[] = {{"Master", "master"}, {"Worker", "worker"}};
constexpr char kContainer[] = "pytorch";

// Appends the pod set of one type of replicas; there is at most one master.
void ReadReplicas(const Field& replicas, const ReplicaType& type, ParsedJob* job) {
  if (replicas.Object() == nullptr) return;
  replicas.OnlyMembers({"replicas", "template", "restartPolicy"});
  const bool master = type.pod_set == std::string_view("master");
  const Field count_field = replicas["replicas"];
  const std::int32_t count = count_field.CountOr(1, master ? 1 : 0);
  if (master && count > 1) count_field.Fail("must be 1: there is one master");
  (void)replicas["restartPolicy"].OneOf({"Always", "OnFailure", "Never", "ExitCode"});
  PodSet pod_set =
      ReadPodSet(replicas["template"], type.pod_set, count, {.required_container = kContainer});
  if (count > 0) job->pod_sets.push_back(std::move(pod_set));
}

// The limits of the whole job. schedulingPolicy is for gang schedulers on the member; it is checked
// and passed on.
void ReadRunPolicy(const Field& policy, ParsedJob* job) {
  policy.OnlyMembers({"cleanPodPolicy", "ttlSecondsAfterFinished", "activeDeadlineSeconds",
                      "backoffLimit", "schedulingPolicy", "suspend", "managedBy"});
  (void)policy["cleanPodPolicy"].OneOf({"", "None", "Running", "All"});
  job->ttl_after_finished_s = policy["ttlSecondsAfterFinished"].Int(0, INT32_MAX).value_or(-1);
  const auto deadline = policy["activeDeadlineSeconds"].Int(1);
  if (deadline && (job->time_limit_s == 0 || *deadline < job->time_limit_s))
    job->time_limit_s = *deadline;
  (void)policy["backoffLimit"].Count(0);
  (void)policy["suspend"].Bool();
  CheckManagedBy(policy["managedBy"], "kubeflow.org/training-operator");
  const Field scheduling = policy["schedulingPolicy"];
  scheduling.OnlyMembers(
      {"minAvailable", "queue", "minResources", "priorityClass", "scheduleTimeoutSeconds"});
  (void)scheduling["minAvailable"].Count(1);
}

// nprocPerNode: a word, or a number as text; operators before 1.8 took a plain number.
void CheckProcesses(const Field& field) {
  if (!field.present()) return;
  if (field.value()->is_int64()) {
    (void)field.Count(1);
    return;
  }
  const std::string_view text = field.StringOr("auto");
  if (text == "auto" || text == "cpu" || text == "gpu") return;
  const bool number = !text.empty() && text.size() < 6 && text[0] != '0' &&
                      text.find_first_not_of("0123456789") == std::string_view::npos;
  if (!number) field.Fail("must be auto, cpu, gpu or a number of processes");
}

void ParsePyTorchJob(const Field& root, ParsedJob* job) {
  root.OnlyMembers({"apiVersion", "kind", "metadata", "spec", "status"});
  ReadJobMetadata(root, {.max_bytes = 63, .dns1035 = true}, job);
  const Field spec = root["spec"];
  if (!spec.Require() || spec.Object() == nullptr) return;
  spec.OnlyMembers({"pytorchReplicaSpecs", "runPolicy", "elasticPolicy", "nprocPerNode"});
  spec["elasticPolicy"].Refuse("elastic training is not supported by this version");
  CheckProcesses(spec["nprocPerNode"]);
  if (spec["runPolicy"].Object() != nullptr) ReadRunPolicy(spec["runPolicy"], job);
  const Field replicas = spec["pytorchReplicaSpecs"];
  if (!replicas.Require() || replicas.Object() == nullptr) return;
  replicas.OnlyMembers({"Master", "Worker"});
  for (const auto& type : kReplicaTypes) ReadReplicas(replicas[type.key], type, job);
  if (job->pod_sets.empty()) replicas.Fail("must have a Master or Workers");
  CheckPodSets(replicas, job->pod_sets);
}

void VisitPyTorchJobTemplates(json::object& manifest, const TemplateVisitor& visit) {
  auto& replicas = MakeObjectAt(MakeObjectAt(manifest, "spec"), "pytorchReplicaSpecs");
  for (const auto& type : kReplicaTypes) {
    if (auto* found = MutableObject(&replicas, type.key))
      visit(type.pod_set, MakeObjectAt(*found, "template"));
  }
}

// Pods that go on running after the job's end would use amounts that its quota no longer covers. So
// cleanPodPolicy None becomes Running.
void StopRunningPods(json::object& policy) {
  if (ViewAt(policy, "cleanPodPolicy") != "All") policy["cleanPodPolicy"] = "Running";
}

void PreparePyTorchJob(json::object& manifest, const RenderContext& context,
                       std::vector<RenderedObject>*) {
  auto& policy = MakeObjectAt(MakeObjectAt(manifest, "spec"), "runPolicy");
  StopRunningPods(policy);
  policy.erase("ttlSecondsAfterFinished");
  policy.erase("managedBy");
  policy["suspend"] = context.suspended;
}

}  // namespace

const ShapeOps kPyTorchJobOps = {ShapeKind::kPyTorchJob, ParsePyTorchJob, VisitPyTorchJobTemplates,
                                 PreparePyTorchJob};

}  // namespace muster::shapes
