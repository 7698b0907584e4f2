// Where the manifests of each kind of job have their pod templates: one table for everything that
// looks at all templates of a manifest before the kind's own reader has made pod sets of them.
//
// Pure.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "schedd/shapes/parts/field.h"

namespace muster::shapes {

/// The path from the manifest to its pod templates. "[]" stands for every element of a list, "{}"
/// for every member of an object.
struct TemplatePlace {
  std::string_view kind;
  std::vector<std::string_view> path;
};
/// Of all kinds; a kind may have several. A batch script has none.
const std::vector<TemplatePlace>& TemplatePlaces();

/// Calls `visit` for every value of the manifest that `path` leads to and that is present.
void VisitPath(const Field& manifest, const std::vector<std::string_view>& path,
               const std::function<void(const Field&)>& visit);
/// Calls `visit` for every pod template of a manifest of this kind.
void VisitPodTemplates(const Field& manifest, std::string_view kind,
                       const std::function<void(const Field& pod_template)>& visit);

/// The pod spec of a template. Workloads of early API versions have a pod spec in place of the
/// template, whose metadata is then absent.
Field PodSpecOf(const Field& pod_template);

}  // namespace muster::shapes
