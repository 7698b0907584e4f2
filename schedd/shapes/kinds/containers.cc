// Containers by pod set, read from the manifest's templates: init containers first, because they
// run first. A batch script has no template: all its pods have the one container that Render makes.
#include "schedd/shapes/kinds/containers.h"

#include "schedd/shapes/kinds/shape_ops.h"
#include "schedd/text/lenient.h"

namespace muster::shapes {
namespace {

void AddNames(const json::object& spec, std::string_view list, std::vector<std::string>* out) {
  for (const json::value& one : ArrayOrEmpty(spec, list)) {
    if (const json::string* name = FindText(one, "name")) out->emplace_back(*name);
  }
}

}  // namespace

ContainersBySet ContainersOf(const JobRecord& job, const json::value& manifest) {
  ContainersBySet out;
  if (job.shape == ShapeKind::kBatchScript) {
    for (const PodSet& set : *job.pod_sets) out[set.name] = {kBatchContainer};
    return out;
  }
  if (!manifest.is_object()) return out;
  // A copy, because a visit makes the templates that the manifest leaves out.
  json::value copy = manifest;
  OpsOf(job.shape).visit_templates(copy.get_object(),
                                   [&](std::string_view set, json::object& pod_template) {
    const json::object* spec = FindObject(pod_template, "spec");
    if (spec == nullptr) return;
    std::vector<std::string>& names = out[std::string(set)];
    names.clear();
    AddNames(*spec, "initContainers", &names);
    AddNames(*spec, "containers", &names);
  });
  return out;
}

}  // namespace muster::shapes
