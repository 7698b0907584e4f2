// Candidates for the dispatch modes with members' own queues (rule P33). The job holds quota and
// perhaps room on a member: both are taken off the copy of the room and the spread counts first, so
// that the job does not stand in its own way.
#include "schedd/core/member/member_candidates.h"

#include "schedd/core/member/member_fit.h"

namespace muster::core {

// The members are in the order of the placement (OrderMembers). That order leaves out members that
// the placement turns away now but not for good; these are refused with their sentence too.
MemberCandidates CandidatesOf(const ConfigView& config, const AdmissionSettings& settings,
                              MemberRoom room, const PlacedCounts* placed, const JobRecord& job,
                              WallTime now) {
  if (job.admission != nullptr && !job.cluster.empty()) {
    room.Release(job.cluster, RequestsOf(*job.pod_sets, job.admission.get()));
    room.ReleasePods(job.cluster, job.pod_sets, job.admission);
  }
  const PlacementAsk ask = AskOf(config, settings, job, now);
  PlacedCounts others;
  if (placed != nullptr && ask.placement != nullptr) {
    others = CountsWithout(*placed, *ask.placement, job.cluster);
    placed = &others;
  }
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
    // A cordoned or silent member cannot be asked, even if it could hold the job.
    const bool open = verdict.filter != "ClusterEligibility";
    if (verdict.eligible && open) {
      fitting.emplace(verdict.cluster, std::move(verdict));
    } else {
      candidates.refused[verdict.cluster] = std::move(verdict.message);
    }
  }
  for (std::string& name : OrderMembers(room, demand).members) {
    if (fitting.erase(name) > 0) candidates.members.push_back(std::move(name));
  }
  for (auto& [name, verdict] : fitting) candidates.refused[name] = std::move(verdict.message);
  return candidates;
}

PlacedCounts CountsWithout(const PlacedCounts& counts, const Placement& placement,
                           const std::string& cluster) {
  PlacedCounts others;
  const auto found = counts.find({placement.ns, placement.name});
  if (found == counts.end()) return others;
  auto& left = others[found->first] = found->second;
  if (const auto here = left.find(cluster); here != left.end() && here->second > 0) --here->second;
  return others;
}

}  // namespace muster::core
