#include "schedd/core/placement.h"

#include "schedd/core/member_room.h"

namespace muster::core {

PlacementChoice Place(const ConfigView& config, std::span<const ClusterView> clusters,
                      const PlacementDemand& demand, bool want_verdicts) {
  const MemberRoom room(clusters);
  const MemberFit fit(config, room, demand);
  const std::size_t picked = fit.Pick(room, demand.job_uid, demand.seed);
  PlacementChoice choice;
  if (picked == MemberFit::kNone) {
    choice = fit.Refusal(room);
  } else {
    choice.cluster = room.member(picked).facts->name;
  }
  if (want_verdicts) choice.verdicts = fit.Verdicts(room);
  return choice;
}

ResourceList TotalRequests(const PodSets& pod_sets) {
  ResourceList total;
  for (const auto& pod_set : pod_sets) AddAmounts(&total, Scaled(pod_set.requests, pod_set.count));
  return total;
}

}  // namespace muster::core
