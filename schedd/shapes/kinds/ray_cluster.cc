// RayCluster (ray.io/v1), which serves until it is deleted: pod set `head` and one pod set per
// worker group, of replicas x numOfHosts pods (rule A6). Its spec is read here for RayJobs too.
#include <algorithm>
#include <set>

#include "schedd/base/limits.h"
#include "schedd/base/names.h"
#include "schedd/base/quantity.h"
#include "schedd/shapes/kinds/ray_cluster_spec.h"
#include "schedd/shapes/kinds/shape_list.h"
#include "schedd/shapes/parts/metadata.h"
#include "schedd/text/lenient.h"

namespace muster::shapes {
namespace {

constexpr std::size_t kRayClusterNameBytes =
    50;  // KubeRay's own limit: Service names are made from it

// rayStartParams: arguments of `ray start`, all of them texts.
void CheckStartParams(const Field& params) {
  for (const auto& [key, field] : params.Members()) {
    if (!field.present()) field.Fail("must be a string, not null");
    (void)field.String();
  }
}

// How many replicas a group without `replicas` has: one, which is Kueue's default, or as many as
// minReplicas demands.
std::int32_t DefaultReplicas(std::int32_t least) { return std::max(1, least); }

// Appends the pod set of a worker group. The replicas that are counted are those written, not those
// that an autoscaler might reach (maxReplicas). KubeRay would make as many as minReplicas and
// maxReplicas permit instead, which the quota does not cover: so both must permit them.
void ReadWorkerGroup(const Field& group, std::set<std::string_view>* names, PodSets* pod_sets) {
  group.OnlyMembers({"groupName", "replicas", "minReplicas", "maxReplicas", "numOfHosts",
                     "rayStartParams", "template", "scaleStrategy", "idleTimeoutSeconds", "suspend",
                     "resources", "labels"});
  const Field name = group["groupName"];
  std::string_view text;
  if (name.Require()) text = name.StringOr("");
  if (name.present() && !IsDnsLabel(text)) name.Fail(kDnsLabelRule);
  if (text == "head" || text == "submitter")
    name.Fail("must not be head or submitter: Muster's own pod sets are called so");
  if (!names->insert(text).second) name.Fail("must be unique: " + Quoted(text));
  if (group["suspend"].BoolOr(false))
    group["suspend"].Fail("suspending one worker group is not supported by this version");
  CheckStartParams(group["rayStartParams"]);
  const std::int32_t hosts = group["numOfHosts"].CountOr(1, 1);
  const auto least = group["minReplicas"].Count(0);
  const auto most = group["maxReplicas"].Count(0);
  const std::int32_t replicas = group["replicas"].CountOr(DefaultReplicas(least.value_or(0)), 0);
  if (least && most && *least > *most) {
    group["minReplicas"].Fail("must be at most maxReplicas");
  } else if (most && replicas > *most) {
    group["replicas"].Fail("must be at most maxReplicas");
  } else if (least && replicas < *least) {
    group["replicas"].Fail("must be at least minReplicas");
  }
  const std::int64_t pods = SaturatingMul(replicas, hosts);
  if (pods > limits::kPodsPerJob) {
    group["replicas"].Fail("makes more than " + std::to_string(limits::kPodsPerJob) + " pods");
    return;
  }
  PodSet pod_set =
      ReadPodSet(group["template"], std::string(text), static_cast<std::int32_t>(pods), {});
  if (pods > 0) pod_sets->push_back(std::move(pod_set));
}

void ParseRayCluster(const Field& root, ParsedJob* job) {
  root.OnlyMembers({"apiVersion", "kind", "metadata", "spec", "status"});
  ReadJobMetadata(root, {.max_bytes = kRayClusterNameBytes, .dns1035 = true}, job);
  const Field spec = root["spec"];
  if (!spec.Require() || spec.Object() == nullptr) return;
  ReadRayClusterSpec(spec, &job->pod_sets);
  CheckPodSets(spec, job->pod_sets);
}

void VisitTemplatesOfRayCluster(json::object& manifest, const TemplateVisitor& visit) {
  VisitRayClusterTemplates(MakeObjectAt(manifest, "spec"), visit);
}

void PrepareRayCluster(json::object& manifest, const RenderContext& context,
                       std::vector<RenderedObject>*) {
  auto& spec = MakeObjectAt(manifest, "spec");
  PrepareRayClusterSpec(spec);
  spec["suspend"] = context.suspended;
}

}  // namespace

void ReadRayClusterSpec(const Field& spec, PodSets* pod_sets) {
  spec.OnlyMembers({"headGroupSpec", "workerGroupSpecs", "rayVersion", "enableInTreeAutoscaling",
                    "autoscalerOptions", "headServiceAnnotations", "suspend",
                    "gcsFaultToleranceOptions", "managedBy", "authOptions", "upgradeStrategy"});
  CheckManagedBy(spec["managedBy"], "ray.io/kuberay-operator");
  (void)spec["suspend"].Bool();
  (void)spec["rayVersion"].String();
  if (spec["enableInTreeAutoscaling"].BoolOr(false)) {
    spec["enableInTreeAutoscaling"].Fail(
        "autoscaling inside the job is not supported by this version");
  }
  spec["gcsFaultToleranceOptions"].Refuse(
      "fault tolerance of the head is not supported by this version");
  const Field head = spec["headGroupSpec"];
  if (head.Require() && head.Object() != nullptr) {
    head.OnlyMembers({"serviceType", "headService", "enableIngress", "rayStartParams", "template",
                      "resources", "labels"});
    CheckStartParams(head["rayStartParams"]);
    pod_sets->push_back(ReadPodSet(head["template"], "head", 1, {}));
  }
  std::set<std::string_view> names;
  for (const auto& group : spec["workerGroupSpecs"].Elements())
    ReadWorkerGroup(group, &names, pod_sets);
}

void VisitRayClusterTemplates(json::object& spec, const TemplateVisitor& visit) {
  visit("head", MakeObjectAt(MakeObjectAt(spec, "headGroupSpec"), "template"));
  auto* groups = spec.if_contains("workerGroupSpecs");
  if (groups == nullptr || !groups->is_array()) return;
  for (auto& group : groups->get_array()) {
    auto& object = group.as_object();
    // First, because a new member moves the name.
    json::object& pod_template = MakeObjectAt(object, "template");
    visit(std::string_view(object.at("groupName").as_string()), pod_template);
  }
}

void PrepareRayClusterSpec(json::object& spec) {
  spec.erase("managedBy");
  // A RayJob suspends its cluster by a field of its own.
  spec.erase("suspend");
  auto* groups = spec.if_contains("workerGroupSpecs");
  if (groups == nullptr || !groups->is_array()) return;
  for (auto& group : groups->get_array()) {
    auto& object = group.as_object();
    const auto* replicas = object.if_contains("replicas");
    // Admission counted these; KubeRay's default would be none, or minReplicas.
    if (replicas == nullptr || replicas->is_null()) {
      const auto* least = object.if_contains("minReplicas");
      const bool given = least != nullptr && least->is_int64();
      object["replicas"] =
          DefaultReplicas(given ? static_cast<std::int32_t>(least->get_int64()) : 0);
    }
  }
}

const ShapeOps kRayClusterOps = {ShapeKind::kRayCluster, ParseRayCluster,
                                 VisitTemplatesOfRayCluster, PrepareRayCluster};

}  // namespace muster::shapes
