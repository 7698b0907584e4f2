// Rebalancing (rule P17): Find runs the same comparison that places a new job (MemberFit), on a
// room in which the job's own part is free and its spread count is taken off. It assumes that the
// job has waited for no cluster group, because after a move it would be queued anew.
#include "schedd/core/member/rebalance.h"

#include <algorithm>

#include "schedd/core/member/member_candidates.h"
#include "schedd/core/member/member_fit.h"
#include "schedd/core/member/placement_ask.h"
#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/member_queues.h"
#include "schedd/model/requests.h"

namespace muster::core {
namespace {

// True if the placement can rank one feasible member above another.
bool Prefers(const PlacementPolicy& policy, const JobPlacement& own) {
  return !policy.preferred.empty() || !policy.groups.empty() || !policy.spread.empty() ||
         (!own.datasets.empty() && !own.datasets_required);
}

// True if topology aware scheduling chose, or will choose, the machines.
bool IsOnChosenMachines(const Admission& admission) {
  return std::any_of(admission.pod_sets.begin(), admission.pod_sets.end(),
                     [](const PodSetAssignment& pods) {
    return pods.topology != nullptr || pods.topology_delayed;
  });
}

std::string GroupText(const PlacementPolicy& policy, std::size_t group) {
  return group < policy.groups.size() ? "in its cluster group " + policy.groups[group].name
                                      : "in none of its cluster groups";
}

std::int64_t PointsOf(const MemberScore& score) {
  return std::int64_t{score.affinity} + score.spread;
}

}  // namespace

// Topology aware jobs and jobs of members' own queues were placed by others than MemberFit.
bool MayBeMoved(const ConfigView& config, const JobRecord& job) {
  const JobPlacement* own = job.placement.get();
  if (own == nullptr || !own->checkpointable || !own->cluster.empty()) return false;
  if (job.state != JobState::kRunning || !MayRequeue(job)) return false;
  if (job.admission == nullptr || job.pod_sets == nullptr || job.cluster.empty()) return false;
  if (IsOnChosenMachines(*job.admission) || IsRunByMemberQueue(job)) return false;
  const PlacementPtr governing = GoverningPlacement(config, job, nullptr);
  if (governing == nullptr || governing->policy.type == PlacementType::kPickFixed) return false;
  return Prefers(governing->policy, *own);
}

std::optional<BetterMember> Rebalancer::Find(const JobRecord& job, std::int64_t gain) const {
  PlacementAsk ask = AskOf(config_, settings_, job, now_);
  if (ask.placement == nullptr || !ask.obstacle.empty()) return std::nullopt;
  // After a move the job would begin to wait anew.
  ask.waited_s = 0;
  PlacedCounts others;
  if (placed_ != nullptr) others = CountsWithout(*placed_, *ask.placement, job.cluster);
  const AdmissionPtr held = ChargedAdmission(job, settings_);
  PlacementDemand demand;
  demand.pod_sets = job.pod_sets.get();
  demand.admission = job.admission.get();
  demand.ask = &ask;
  demand.placed = &others;
  demand.kind = KindOnMember(job);
  MemberRoom room = room_;
  room.Release(job.cluster, RequestsOf(*job.pod_sets, held.get()));
  room.ReleasePods(job.cluster, job.pod_sets, held);
  const MemberFit fit(config_, room, demand);
  const std::size_t best = fit.Pick(room, job.uid, 0);
  if (best == MemberFit::kNone || room.member(best).facts->name == job.cluster) return std::nullopt;
  BetterMember better;
  better.cluster = room.member(best).facts->name;
  // Both ranks are of the same room, in which the job runs nowhere.
  const auto now = fit.RankAt(room, job.cluster), there = fit.RankAt(room, better.cluster);
  if (!now || !there) return std::nullopt;
  better.points = PointsOf(there->score) - PointsOf(now->score);
  better.earlier_group = there->group < now->group;
  // Pick prefers an earlier group, so a later one can only win for lack of room.
  if (there->group > now->group || (!better.earlier_group && better.points < gain))
    return std::nullopt;
  const std::string mention = MentionOf(*ask.placement);
  if (better.earlier_group) {
    const PlacementPolicy& policy = ask.placement->policy;
    better.message = "moves to member cluster " + better.cluster + ": " + mention + " has it " +
                     GroupText(policy, there->group) + ", and " + job.cluster + " " +
                     GroupText(policy, now->group);
  } else {
    better.message = "moves to member cluster " + better.cluster + ": it scores " +
                     std::to_string(PointsOf(there->score)) + " points by " + mention +
                     ", and member cluster " + job.cluster + " " +
                     std::to_string(PointsOf(now->score));
  }
  return better;
}

bool BringsMore(const BetterMember& a, const BetterMember& b) {
  if (a.earlier_group != b.earlier_group) return a.earlier_group;
  return a.points > b.points;
}

}  // namespace muster::core
