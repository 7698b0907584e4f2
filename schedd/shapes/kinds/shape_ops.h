// What each shape's file gives the registry. Internal to schedd/shapes.
#pragma once

#include <functional>
#include <string_view>

#include "schedd/shapes/kinds/shape.h"
#include "schedd/shapes/parts/field.h"
#include "schedd/shapes/parts/pod_template.h"

namespace muster::shapes {

/// Called for each pod template of a manifest with the name of the pod set it makes.
using TemplateVisitor = std::function<void(std::string_view pod_set, json::object& pod_template)>;

/// What Render knows besides the manifest.
struct RenderContext {
  const JobRecord& job;
  bool suspended;
  std::string_view image;  // of containers that the user named none for
};

/// One shape: pure functions.
struct ShapeOps {
  ShapeKind kind;
  const char* api_version;
  const char* name;
  /// Checks everything below apiVersion and kind and fills the parsed job.
  void (*parse)(const Field& root, ParsedJob* job);
  /// Visits every pod template, making the absent ones that its controller would default.
  void (*visit_templates)(json::object& manifest, const TemplateVisitor& visit);
  /// Turns the user's manifest into the member's object before templates are visited: sets
  /// suspension, removes TTL and what only the hub understands, fills defaults that admission
  /// relied on.
  void (*prepare)(json::object& manifest, const RenderContext& context,
                  std::vector<RenderedObject>* dependents);
};

extern const ShapeOps kJobOps;
extern const ShapeOps kJobSetOps;
extern const ShapeOps kRayJobOps;
extern const ShapeOps kRayClusterOps;
extern const ShapeOps kPyTorchJobOps;
extern const ShapeOps kLeaderWorkerSetOps;
extern const ShapeOps kBatchScriptOps;
extern const ShapeOps kWorkloadOps;

/// The one container of a batch script's pods.
inline constexpr char kBatchContainer[] = "script";

/// The ops of an apiVersion and kind; null if it is no job shape.
const ShapeOps* FindShape(std::string_view api_version, std::string_view kind);
const ShapeOps& OpsOf(ShapeKind kind);

/// The name of a Workload's pod set if it has but one: it becomes a Job then; else "".
std::string OnlyPodSetOf(const json::value& workload);

/// Pods of a pod set to run: what admission decided (KEP-420), `declared` without an admission.
std::int32_t AdmittedCount(const JobRecord& job, std::string_view pod_set, std::int32_t declared);

/// manifest[key] as an object, made if absent or of another type.
json::object& ObjectAt(json::object& parent, std::string_view key);

/// The controller of a manifest's own kind, or MultiKueue, whose place Muster takes; another one's
/// is refused.
void CheckManagedBy(const Field& managed_by, std::string_view own_controller);

}  // namespace muster::shapes
