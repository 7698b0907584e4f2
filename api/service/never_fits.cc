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

// What the job's ClusterQueue says of such jobs: "refuse", "wait", or "" if it leaves it to their
// kind. The annotation is read from the stored manifest and not kept parsed, since only jobs that
// never fit ask for it.
std::string ChoiceOf(const WorldView& view, const JobRecord& draft) {
  const auto queue = view.objects->find({ObjectKind::kClusterQueue, "", draft.cluster_queue});
  const json::string* choice = nullptr;
  Result<json::value> manifest = json::value();
  if (queue != view.objects->end()) manifest = ParseJson(queue->second->manifest);
  if (manifest.ok())
    choice = FindText(*manifest, {"metadata", "annotations", "muster.io/never-fits"});
  return choice == nullptr ? std::string() : std::string(*choice);
}

// Why no member could hold a single pod of the script: as in Slurm, more nodes than there are may
// come one day, a larger node does not.
std::string OnePodNeverFits(const WorldView& view, const JobRecord& draft,
                            const std::string& pinned) {
  for (const PodSet& pods : *draft.pod_sets) {
    PodSets one = {pods};
    one[0].count = 1;
    one[0].min_count.reset();
    std::string never = core::NeverFits(view.clusters, one, pinned);
    if (!never.empty()) return never;
  }
  return "";
}

}  // namespace

Status RefuseNeverFits(const WorldView& view, const JobRecord& draft) {
  if (draft.pod_sets == nullptr) return Done{};
  // A job may be bound to one member by its placement; then the others do not matter.
  const std::string pinned = draft.placement == nullptr ? "" : draft.placement->cluster;
  std::string never = core::NeverFits(view.clusters, *draft.pod_sets, pinned);
  if (never.empty()) return Done{};
  const std::string choice = ChoiceOf(view, draft);
  if (choice == "wait") return Done{};
  if (choice.empty() && draft.shape != ShapeKind::kBatchScript) return Done{};
  if (choice.empty()) never = OnePodNeverFits(view, draft, pinned);
  if (never.empty()) return Done{};
  return Error{Code::kInvalidArgument,
               "Requested node configuration is not available: " + never,
               {{"resources", never}}};
}

}  // namespace muster::api
