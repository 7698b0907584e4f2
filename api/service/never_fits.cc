// Whether a job fits any member is decided by core::NeverFits from sizes alone: the requests of its
// pods against the members' machines. Facts that are not known count in favour of the member, so
// only what is certain is refused.
#include "api/service/never_fits.h"

#include <string>

#include "schedd/core/member/never_fits.h"
#include "schedd/shapes/config/queue_objects.h"
#include "schedd/text/lenient.h"

namespace muster::api {
namespace {

// Whether the job's ClusterQueue refuses such jobs. The annotation is read from the stored manifest
// and not kept parsed, since only jobs that never fit ask for it.
bool Refuses(const WorldView& view, const JobRecord& draft) {
  const auto queue = view.objects->find({ObjectKind::kClusterQueue, "", draft.cluster_queue});
  const json::string* choice = nullptr;
  Result<json::value> manifest = json::value();
  if (queue != view.objects->end()) manifest = ParseJson(queue->second->manifest);
  if (manifest.ok())
    choice = FindText(*manifest, {"metadata", "annotations", "muster.io/never-fits"});
  if (choice != nullptr) return *choice == "refuse";
  return draft.shape == ShapeKind::kBatchScript;
}

}  // namespace

Status RefuseNeverFits(const WorldView& view, const JobRecord& draft) {
  if (draft.pod_sets == nullptr) return Done{};
  // A job may be bound to one member by its placement; then the others do not matter.
  const std::string pinned = draft.placement == nullptr ? "" : draft.placement->cluster;
  const std::string never = core::NeverFits(view.clusters, *draft.pod_sets, pinned);
  if (never.empty() || !Refuses(view, draft)) return Done{};
  return Error{Code::kInvalidArgument,
               "Requested node configuration is not available: " + never,
               {{"resources", never}}};
}

}  // namespace muster::api
