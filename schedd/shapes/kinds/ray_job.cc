// RayJob (ray.io/v1): the pod sets of its cluster and, in K8sJobMode, `submitter` (rule A6).
//
// Without a template for the submitter KubeRay makes that pod itself. It counts against quota with
// KubeRay's default requests, and is written out on the way to the member, so that labels, flavors
// and tolerations can be added to it.
#include "schedd/base/quantity.h"
#include "schedd/model/member_labels.h"
#include "schedd/shapes/kinds/ray_cluster_spec.h"
#include "schedd/shapes/kinds/shape_list.h"
#include "schedd/shapes/parts/metadata.h"
#include "schedd/text/lenient.h"

namespace muster::shapes {
namespace {

constexpr std::size_t kRayJobNameBytes =
    47;  // KubeRay's own limit: the cluster's name is made from it
constexpr char kSubmitter[] = "submitter";
constexpr char kSubmitterContainer[] = "ray-job-submitter";

// KubeRay's requests for the submitter pod where the manifest has no template for it.
constexpr char kSubmitterCpu[] = "500m";
constexpr char kSubmitterMemory[] = "200Mi";

PodSet DefaultSubmitter() {
  PodSet pod_set;
  pod_set.name = kSubmitter;
  pod_set.count = 1;
  SetAmount(&pod_set.requests, "cpu", ParseQuantity("cpu", kSubmitterCpu).value());
  SetAmount(&pod_set.requests, "memory", ParseQuantity("memory", kSubmitterMemory).value());
  return pod_set;
}

void ReadSubmitter(const Field& spec, ParsedJob* job) {
  const Field mode = spec["submissionMode"];
  const auto chosen = mode.OneOf({"K8sJobMode", "HTTPMode", "SidecarMode", "InteractiveMode"})
                          .value_or("K8sJobMode");
  const Field pod_template = spec["submitterPodTemplate"];
  if (chosen == "SidecarMode" || chosen == "InteractiveMode") {
    mode.Fail(std::string(chosen) +
              " is not supported by this version; use K8sJobMode or HTTPMode");
  }
  if (chosen != "K8sJobMode") {
    pod_template.Refuse("must be absent unless submissionMode is K8sJobMode");
    return;
  }
  const Field config = spec["submitterConfig"];
  config.OnlyMembers({"backoffLimit"});
  (void)config["backoffLimit"].Count(0);
  if (pod_template.present()) {
    job->pod_sets.push_back(ReadPodSet(pod_template, kSubmitter, 1,
                                       {.restart = RestartRule::kNeverOrOnFailureDefaulted}));
  } else {
    job->pod_sets.push_back(DefaultSubmitter());
  }
}

// The fields that are only checked: KubeRay carries them out.
void CheckSmallFields(const Field& spec) {
  const Field entrypoint = spec["entrypoint"];
  if (entrypoint.Require() && entrypoint.StringOr("x").empty())
    entrypoint.Fail("must not be empty");
  (void)spec["runtimeEnvYAML"].String();
  (void)spec["jobId"].String();
  (void)spec["entrypointResources"].String();
  (void)spec["suspend"].Bool();
  (void)spec["backoffLimit"].Count(0);
  (void)spec["preRunningDeadlineSeconds"].Count(1);
  for (const auto& [key, field] : spec["metadata"].Members()) (void)field.String();
  CheckManagedBy(spec["managedBy"], "ray.io/kuberay-operator");
  spec["clusterSelector"].Refuse(
      "a job on a cluster that runs already is not queued; give it a rayClusterSpec");
  spec["deletionStrategy"].Refuse(
      "is not supported by this version: the cluster goes when the job ends");
  const Field shutdown = spec["shutdownAfterJobFinishes"];
  if (!shutdown.BoolOr(false)) {
    shutdown.Fail("must be true: a queued job gives its cluster back when it ends");
  }
}

void ParseRayJob(const Field& root, ParsedJob* job) {
  root.OnlyMembers({"apiVersion", "kind", "metadata", "spec", "status"});
  ReadJobMetadata(root, {.max_bytes = kRayJobNameBytes, .dns1035 = true}, job);
  const Field spec = root["spec"];
  if (!spec.Require() || spec.Object() == nullptr) return;
  spec.OnlyMembers({"entrypoint",
                    "runtimeEnvYAML",
                    "jobId",
                    "metadata",
                    "clusterSelector",
                    "submitterPodTemplate",
                    "submitterConfig",
                    "entrypointNumCpus",
                    "entrypointNumGpus",
                    "entrypointResources",
                    "ttlSecondsAfterFinished",
                    "activeDeadlineSeconds",
                    "preRunningDeadlineSeconds",
                    "backoffLimit",
                    "rayClusterSpec",
                    "suspend",
                    "shutdownAfterJobFinishes",
                    "submissionMode",
                    "deletionStrategy",
                    "managedBy"});
  CheckSmallFields(spec);
  const auto deadline = spec["activeDeadlineSeconds"].Int(1, INT32_MAX);
  if (deadline && (job->time_limit_s == 0 || *deadline < job->time_limit_s))
    job->time_limit_s = *deadline;
  job->ttl_after_finished_s = spec["ttlSecondsAfterFinished"].Int(0, INT32_MAX).value_or(-1);
  const Field cluster = spec["rayClusterSpec"];
  if (cluster.Require() && cluster.Object() != nullptr) ReadRayClusterSpec(cluster, &job->pod_sets);
  ReadSubmitter(spec, job);
  CheckPodSets(spec, job->pod_sets);
}

bool HasSubmitterPod(json::object& spec) {
  const json::string* mode = FindText(spec, "submissionMode");
  return mode == nullptr || *mode == "K8sJobMode";
}

// KubeRay's default template of the submitter: the image of the head, no command. The member makes
// the command from spec.entrypoint.
json::object SubmitterTemplate(json::object& spec) {
  json::value image = json::string(kHostImage);
  auto& group = MakeObjectAt(MakeObjectAt(spec, "rayClusterSpec"), "headGroupSpec");
  auto& head = MakeObjectAt(group, "template");
  auto* containers = MakeObjectAt(head, "spec").if_contains("containers");
  if (containers != nullptr && containers->is_array() && !containers->get_array().empty()) {
    auto& first = containers->get_array()[0].as_object();
    if (const auto* own = first.if_contains("image")) image = *own;
  }
  json::object requests = {{"cpu", kSubmitterCpu}, {"memory", kSubmitterMemory}};
  json::object limits = {{"cpu", "1"}, {"memory", "1Gi"}};
  json::object container = {
      {"name", kSubmitterContainer},
      {"image", std::move(image)},
      {"resources", {{"limits", std::move(limits)}, {"requests", std::move(requests)}}}};
  return {
      {"spec", {{"containers", json::array{std::move(container)}}, {"restartPolicy", "Never"}}}};
}

void VisitRayJobTemplates(json::object& manifest, const TemplateVisitor& visit) {
  auto& spec = MakeObjectAt(manifest, "spec");
  VisitRayClusterTemplates(MakeObjectAt(spec, "rayClusterSpec"), visit);
  if (FindObject(spec, "submitterPodTemplate") != nullptr)
    visit(kSubmitter, MakeObjectAt(spec, "submitterPodTemplate"));
}

void PrepareRayJob(json::object& manifest, const RenderContext& context,
                   std::vector<RenderedObject>*) {
  auto& spec = MakeObjectAt(manifest, "spec");
  spec.erase("ttlSecondsAfterFinished");
  spec.erase("managedBy");
  spec["suspend"] = context.suspended;
  PrepareRayClusterSpec(MakeObjectAt(spec, "rayClusterSpec"));
  if (HasSubmitterPod(spec) && FindObject(spec, "submitterPodTemplate") == nullptr) {
    spec["submitterPodTemplate"] = SubmitterTemplate(spec);
  }
}

}  // namespace

const ShapeOps kRayJobOps = {ShapeKind::kRayJob, ParseRayJob, VisitRayJobTemplates, PrepareRayJob};

}  // namespace muster::shapes
