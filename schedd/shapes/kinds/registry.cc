// The job shapes: one line each. ParseJob and IsJobShape.
#include <array>

#include "schedd/base/names.h"
#include "schedd/shapes/kinds/shape_ops.h"
#include "schedd/shapes/parts/metadata.h"
#include "schedd/text/lenient.h"

namespace muster::shapes {
namespace {

const std::array<const ShapeOps*, 8> kShapes = {
    &kJobOps,        &kJobSetOps,          &kRayJobOps,      &kRayClusterOps,
    &kPyTorchJobOps, &kLeaderWorkerSetOps, &kBatchScriptOps, &kWorkloadOps,
};

// The versions and kinds known, for somebody who wrote another.
Error UnknownKind(std::string_view api_version, std::string_view kind) {
  for (const auto* ops : kShapes) {
    if (kind == ops->name && kind != "Workload") {
      return InvalidField("apiVersion", "a " + std::string(kind) + " must be of " +
                                            ops->api_version + ", not " + Quoted(api_version));
    }
  }
  return InvalidField(
      "kind",
      "no job of this kind is known: " +
          Quoted(std::string(api_version) + ", " + std::string(kind)) +
          "; known are Job, JobSet, RayJob, RayCluster, PyTorchJob, LeaderWorkerSet and Workload");
}

}  // namespace

const ShapeOps* FindShape(std::string_view api_version, std::string_view kind) {
  if (api_version == "kueue.x-k8s.io/v1beta2" && kind == "Workload") return &kWorkloadOps;
  for (const auto* ops : kShapes) {
    if (kind == ops->name && api_version == ops->api_version) return ops;
  }
  return nullptr;
}

std::string_view ApiVersionOf(std::string_view member_kind) {
  for (const auto* ops : kShapes) {
    if (ops->name == member_kind) return ops->api_version;
  }
  return "";
}

const ShapeOps& OpsOf(ShapeKind kind) {
  for (const auto* ops : kShapes) {
    if (ops->kind == kind) return *ops;
  }
  MUSTER_CHECK(!"every ShapeKind is registered");
  return *kShapes[0];
}

bool IsJobShape(const json::value& manifest) {
  return FindShape(ViewAt(manifest, "apiVersion"), ViewAt(manifest, "kind")) != nullptr;
}

Result<ParsedJob> ParseJob(json::value manifest) {
  if (!manifest.is_object()) return InvalidArgument("a manifest must be an object");
  const std::string_view api_version = ViewAt(manifest, "apiVersion");
  const std::string_view kind = ViewAt(manifest, "kind");
  if (api_version.empty()) return InvalidField("apiVersion", "is required");
  if (kind.empty()) return InvalidField("kind", "is required");
  const ShapeOps* ops = FindShape(api_version, kind);
  if (ops == nullptr) return UnknownKind(api_version, kind);
  const std::string version_text(api_version), kind_text(kind);
  // Constructed, not assigned: Boost.JSON copies where the memory resources differ.
  ParsedJob job{.manifest = WithoutServerFields(std::move(manifest))};
  job.shape = ops->kind;
  job.api_version = version_text;
  job.kind = kind_text;
  Problems problems;
  const Field root(job.manifest, &problems);
  ops->parse(root, &job);
  if (ops->kind != ShapeKind::kJob) {
    for (const auto key : {kMinParallelismKey, kSyncCompletionsKey})
      root["metadata"]["annotations"].Named(key).Refuse("is for Jobs of batch/v1 alone");
    const Field elastic = root["metadata"]["annotations"].Named(kElasticJobKey);
    if (elastic.StringOr("false") != "false")
      elastic.Refuse("elastic jobs are Jobs of batch/v1 in this version");
  }
  if (!problems.empty()) return problems.ToError();
  if (job.display_name.empty()) job.display_name = job.name;
  return job;
}

void CheckManagedBy(const Field& managed_by, std::string_view own_controller) {
  const auto text = managed_by.String();
  if (!text || *text == own_controller || *text == "kueue.x-k8s.io/multikueue") return;
  managed_by.Fail("names another controller, " + Quoted(*text) + "; leave it out");
}

}  // namespace muster::shapes
