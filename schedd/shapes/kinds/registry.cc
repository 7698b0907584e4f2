// Finding the kind of a job manifest, and ParseJob, which every manifest goes through: names and
// versions are looked up in kShapeInfos (schedd/model/shape_kind.h), the functions of a kind in the
// list of shape_list.h. ParseJob removes the fields that the server owns first, so that a manifest
// that was read back from a cluster is judged as its author wrote it, and then collects every
// problem before it answers.
#include <algorithm>
#include <vector>

#include "schedd/base/names.h"
#include "schedd/shapes/kinds/shape_list.h"
#include "schedd/shapes/kinds/shape_ops.h"
#include "schedd/shapes/parts/metadata.h"
#include "schedd/text/lenient.h"

namespace muster::shapes {
namespace {

#define MUSTER_ADDRESS_OF_SHAPE(entry) &entry,
constexpr const ShapeOps* kShapes[] = {MUSTER_JOB_SHAPES(MUSTER_ADDRESS_OF_SHAPE)};
#undef MUSTER_ADDRESS_OF_SHAPE

// "Job, JobSet and Workload": the kinds that a manifest may have, in the order of their numbers. A
// BatchScript has a form of its own and is not among them.
std::string KnownKinds() {
  std::vector<const ShapeInfo*> infos;
  for (const ShapeInfo& info : kShapeInfos) {
    if (!info.plural.empty()) infos.push_back(&info);
  }
  std::sort(infos.begin(), infos.end(),
            [](const ShapeInfo* a, const ShapeInfo* b) { return a->kind < b->kind; });
  std::string out;
  for (const ShapeInfo* info : infos) {
    if (!out.empty()) out += info == infos.back() ? " and " : ", ";
    out += info->name;
  }
  return out;
}

// Names the version that a known kind has, or else the kinds that there are.
Error UnknownKind(std::string_view api_version, std::string_view kind) {
  for (const ShapeInfo& info : kShapeInfos) {
    if (kind == info.name && info.newer_version.empty()) {
      return InvalidField("apiVersion", "a " + std::string(kind) + " must be of " +
                                            std::string(info.api_version) + ", not " +
                                            Quoted(api_version));
    }
  }
  return InvalidField("kind", "no job of this kind is known: " +
                                  Quoted(std::string(api_version) + ", " + std::string(kind)) +
                                  "; known are " + KnownKinds());
}

}  // namespace

const ShapeOps* FindShape(std::string_view api_version, std::string_view kind) {
  if (api_version.empty()) return nullptr;
  for (const ShapeInfo& info : kShapeInfos) {
    if (kind == info.name && (api_version == info.api_version || api_version == info.newer_version))
      return &OpsOf(info.kind);
  }
  return nullptr;
}

std::string_view ApiVersionOf(std::string_view member_kind) {
  for (const ShapeInfo& info : kShapeInfos) {
    if (info.name == member_kind) return info.api_version;
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
