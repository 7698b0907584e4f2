// The object is parsed like a submission, for the names and counts of its pod sets; the templates
// are those of the object itself, so that they have the defaults that the API server filled in.
#include "schedd/shapes/kinds/member_pod_sets.h"

#include <algorithm>
#include <utility>

#include "schedd/shapes/kinds/shape_ops.h"

namespace muster::shapes {

Result<std::vector<MemberPodSet>> MemberPodSetsOf(json::value object) {
  const auto parsed = ParseJob(object);
  if (!parsed.ok()) return parsed.error();
  const ShapeOps* ops = FindShape(parsed->api_version, parsed->kind);
  if (ops == nullptr || !object.is_object())
    return InvalidArgument("the kind " + parsed->kind + " has no pod sets");
  std::vector<MemberPodSet> sets;
  ops->visit_templates(object.get_object(), [&](std::string_view name, json::object& pod_template) {
    const auto declared = std::find_if(parsed->pod_sets.begin(), parsed->pod_sets.end(),
                                       [&](const PodSet& one) { return one.name == name; });
    if (declared == parsed->pod_sets.end()) return;
    sets.push_back({declared->name, declared->count, pod_template});
  });
  if (sets.size() != parsed->pod_sets.size())
    return InvalidArgument("the pod sets of " + parsed->kind + " cannot be told apart");
  return sets;
}

}  // namespace muster::shapes
