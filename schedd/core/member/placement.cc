// Place for callers that compare members once; a cycle keeps a MemberFit per class instead.
#include "schedd/core/member/placement.h"

#include <algorithm>

#include "schedd/core/member/member_fit.h"

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

// Pod sets of both slices are in the same order.
Admission PodsBeyond(const Admission& admission, const Admission& replaced) {
  Admission beyond = admission;
  for (std::size_t i = 0; i < beyond.pod_sets.size() && i < replaced.pod_sets.size(); ++i) {
    std::int32_t& count = beyond.pod_sets[i].count;
    count = std::max(0, count - replaced.pod_sets[i].count);
  }
  return beyond;
}

ResourceList RequestsOf(const PodSets& pod_sets, const Admission* admission) {
  ResourceList total;
  for (std::size_t i = 0; i < pod_sets.size(); ++i) {
    const bool admitted = admission != nullptr && i < admission->pod_sets.size();
    const std::int32_t count = admitted ? admission->pod_sets[i].count : pod_sets[i].count;
    AddAmounts(&total, Scaled(pod_sets[i].requests, count));
  }
  return total;
}

}  // namespace muster::core
