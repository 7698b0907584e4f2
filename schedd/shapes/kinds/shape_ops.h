// What the file of each kind of job defines: its ShapeOps (shape_list.h has the list), and what
// those files share. Internal to schedd/shapes.
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
  std::string_view image;  // of containers for which the user named none
  /// Annotations muster.io/tools-image and muster.io/shared-directories of the queue; "": none.
  std::string_view tools_image = {}, shared_directories = {};
};

/// One kind of job: pure functions. Its names are in ShapeInfoOf(kind).
struct ShapeOps {
  ShapeKind kind;
  /// Checks everything below apiVersion and kind and fills the parsed job.
  void (*parse)(const Field& root, ParsedJob* job);
  /// Visits every pod template. Makes templates that are absent and that the kind's controller
  /// would make by default.
  void (*visit_templates)(json::object& manifest, const TemplateVisitor& visit);
  /// Turns the user's manifest into the member's object before templates are visited: suspends or
  /// releases it, removes the TTL and fields that only Muster understands, and fills in defaults
  /// that admission relied on.
  void (*prepare)(json::object& manifest, const RenderContext& context,
                  std::vector<RenderedObject>* dependents);
};

/// The one container of a batch script's pods.
inline constexpr char kBatchContainer[] = "script";

/// The ops of an apiVersion and kind; null if they name no kind of job.
const ShapeOps* FindShape(std::string_view api_version, std::string_view kind);
/// CHECKs that the kind is listed: every value of ShapeKind is.
const ShapeOps& OpsOf(ShapeKind kind);

/// The name of a Workload's pod set if it has but one: it becomes a Job then; else "".
std::string OnlyPodSetOf(const json::value& workload);

/// Pods of a pod set to run: what admission decided (KEP-420), `declared` without an admission.
std::int32_t AdmittedCount(const JobRecord& job, std::string_view pod_set, std::int32_t declared);

/// Checks spec.managedBy: it may name the controller of the manifest's own kind, or MultiKueue,
/// whose place Muster takes. Another controller is refused.
void CheckManagedBy(const Field& managed_by, std::string_view own_controller);

}  // namespace muster::shapes
