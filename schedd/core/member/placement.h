// Placement: the choice of the member cluster on which an admitted job runs: eligibility, the job's
// placement, room (rules P5 to P12). Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/core/member/cluster_view.h"

namespace muster::core {

struct PlacementAsk;

/// The demand of one job on a member.
struct PlacementDemand {
  const PodSets* pod_sets = nullptr;
  const Admission* admission = nullptr;
  const PlacementAsk* ask = nullptr;     // null: any member will do
  const PlacedCounts* placed = nullptr;  // for spread constraints; null: no counts
  std::string_view kind;                 // KindOnMember; "": any member serves it
  bool in_place = false;   // more pods for a job that runs there: its placement is not applied
  Uid job_uid;             // for the hash among equals
  std::uint64_t seed = 0;  // the cycle's seed for that hash
};

/// One term of a member's score.
struct ScoreTerm {
  std::string term;         // "resources.kubernetes-fleet.io/available-cpu Descending"
  std::int32_t weight = 0;  // 0 for a spread constraint
  std::int32_t score = 0;
};

/// The verdict about one member, for explain.
struct ClusterVerdict {
  std::string cluster;
  bool eligible = false;  // it could hold the job if it were empty
  bool fits_now = false;
  std::string message;  // "needs 16 nvidia.com/gpu, 15 of 16 free"
  /// The filter that turns it away, "" if none does: "ClusterEligibility", "TaintToleration",
  /// "ClusterAffinity", "Placement", "Datasets", "AvoidedCluster", "ClusterGroup", "JobKind",
  /// "TopologySpreadConstraints", "Flavor", "Capacity" or "MachineShape".
  std::string filter;
  std::vector<ScoreTerm> terms;  // only if a placement governs the job
  std::int32_t affinity_score = 0, spread_score = 0;
};

/// The result of Place.
struct PlacementChoice {
  std::string cluster;            // "" if no member fits now
  Reason reason = Reason::kNone;  // without member: kNoMemberCluster or kWaitingForCapacity
  std::string message;
  std::vector<ClusterVerdict> verdicts;  // only if want_verdicts
};

/// The members that a job may go to, best first; room is not considered.
struct MemberOrder {
  std::vector<std::string> members;
  std::string refused;  // why the others are not among them: "member cluster a: ..."
};

/// The best member for the demand. Among equals the larger free share of the job's dominant
/// resource decides, then a stable hash of job and member (rule P11).
PlacementChoice Place(const ConfigView& config, std::span<const ClusterView> clusters,
                      const PlacementDemand& demand, bool want_verdicts);

/// The pods that `admission` has beyond the slice that it replaces; only the counts are meaningful.
Admission PodsBeyond(const Admission& admission, const Admission& replaced);

/// The requests of all pods together: those of each pod set times its admitted count, or times its
/// declared count without admission.
ResourceList RequestsOf(const PodSets& pod_sets, const Admission* admission);

}  // namespace muster::core
