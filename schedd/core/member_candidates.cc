#include "schedd/core/member_candidates.h"

#include "schedd/core/member_fit.h"

namespace muster::core {

MemberCandidates CandidatesOf(const ConfigView& config, const AdmissionSettings& settings,
                              std::span<const ClusterView> clusters, const PlacedCounts* placed,
                              const JobRecord& job, WallTime now) {
  MemberRoom room(clusters);
  if (job.admission != nullptr && !job.cluster.empty()) {
    room.Release(job.cluster, RequestsOf(*job.pod_sets, job.admission.get()));
    room.ReleasePods(job.cluster, job.pod_sets, job.admission);
  }
  const PlacementAsk ask = AskOf(config, settings, job, now);
  PlacementDemand demand;
  demand.pod_sets = job.pod_sets.get();
  demand.admission = job.admission.get();
  demand.ask = &ask;
  demand.placed = placed;
  demand.kind = KindOnMember(job);
  demand.job_uid = job.uid;

  MemberCandidates candidates;
  std::map<std::string, ClusterVerdict> fitting;
  for (ClusterVerdict& verdict : MemberFit(config, room, demand).Verdicts(room)) {
    const bool open = verdict.filter != "ClusterEligibility";
    if (verdict.eligible && open) {
      fitting.emplace(verdict.cluster, std::move(verdict));
    } else {
      candidates.refused[verdict.cluster] = std::move(verdict.message);
    }
  }
  // It leaves out whom the placement turns away now, though not for good.
  for (std::string& name : OrderMembers(room, demand).members) {
    if (fitting.erase(name) > 0) candidates.members.push_back(std::move(name));
  }
  for (auto& [name, verdict] : fitting) candidates.refused[name] = std::move(verdict.message);
  return candidates;
}

}  // namespace muster::core
