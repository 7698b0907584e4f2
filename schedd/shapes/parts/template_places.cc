#include "schedd/shapes/parts/template_places.h"

namespace muster::shapes {
namespace {

// Follows the path from position `at`.
void Follow(const Field& here, const std::vector<std::string_view>& path, std::size_t at,
            const std::function<void(const Field&)>& visit) {
  if (!here.present()) return;
  if (at == path.size()) return visit(here);
  if (path[at] == "[]") {
    for (const Field& element : here.Elements()) Follow(element, path, at + 1, visit);
  } else if (path[at] == "{}") {
    if (const json::object* members = here.Object()) {
      for (const auto& member : *members) Follow(here[member.key()], path, at + 1, visit);
    }
  } else {
    Follow(here[path[at]], path, at + 1, visit);
  }
}

}  // namespace

const std::vector<TemplatePlace>& TemplatePlaces() {
  static const std::vector<TemplatePlace> places = {
      {"Job", {"spec", "template"}},
      {"JobSet", {"spec", "replicatedJobs", "[]", "template", "spec", "template"}},
      {"PyTorchJob", {"spec", "pytorchReplicaSpecs", "{}", "template"}},
      {"LeaderWorkerSet", {"spec", "leaderWorkerTemplate", "leaderTemplate"}},
      {"LeaderWorkerSet", {"spec", "leaderWorkerTemplate", "workerTemplate"}},
      {"RayCluster", {"spec", "headGroupSpec", "template"}},
      {"RayCluster", {"spec", "workerGroupSpecs", "[]", "template"}},
      {"RayJob", {"spec", "rayClusterSpec", "headGroupSpec", "template"}},
      {"RayJob", {"spec", "rayClusterSpec", "workerGroupSpecs", "[]", "template"}},
      {"RayJob", {"spec", "submitterPodTemplate"}},
      {"Workload", {"spec", "podSets", "[]", "template"}},
  };
  return places;
}

void VisitPath(const Field& manifest, const std::vector<std::string_view>& path,
               const std::function<void(const Field&)>& visit) {
  Follow(manifest, path, 0, visit);
}

void VisitPodTemplates(const Field& manifest, std::string_view kind,
                       const std::function<void(const Field&)>& visit) {
  for (const TemplatePlace& place : TemplatePlaces()) {
    if (place.kind == kind) Follow(manifest, place.path, 0, visit);
  }
}

Field PodSpecOf(const Field& pod_template) {
  const Field spec = pod_template["spec"];
  return !spec.present() && pod_template["containers"].present() ? pod_template : spec;
}

}  // namespace muster::shapes
