// Placement: on which member cluster an admitted job runs: eligibility, what its placement asks
// for, room (rules P5 to P12). Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/core/member/cluster_view.h"

namespace muster::core {

struct PlacementAsk;

/// What a job needs of a member.
struct PlacementDemand {
  const PodSets* pod_sets = nullptr;
  const Admission* admission = nullptr;
  const PlacementAsk* ask = nullptr;     // null: any member will do
  const PlacedCounts* placed = nullptr;  // what spread constraints count; null: none
  std::string_view kind;                 // KindOnMember; "": any member serves it
  bool in_place = false;   // more pods of a job that runs there: its placement is not asked again
  Uid job_uid;             // stable tie-break
  std::uint64_t seed = 0;  // the cycle's, mixed into the tie-break
};

/// One term of a member's score.
struct ScoreTerm {
  std::string term;         // "resources.kubernetes-fleet.io/available-cpu Descending"
  std::int32_t weight = 0;  // 0: of a spread constraint
  std::int32_t score = 0;
};

struct ClusterVerdict {
  std::string cluster;
  bool eligible = false;  // could hold it if it were empty
  bool fits_now = false;
  std::string message;  // "needs 16 nvidia.com/gpu, 15 of 16 free"
  /// Which filter turns it away; "" if none does: "ClusterEligibility", "TaintToleration",
  /// "ClusterAffinity", "Placement", "Datasets", "AvoidedCluster", "ClusterGroup", "JobKind",
  /// "TopologySpreadConstraints", "Flavor", "Capacity", "MachineShape".
  std::string filter;
  std::vector<ScoreTerm> terms;  // of a governed job
  std::int32_t affinity_score = 0, spread_score = 0;
};

struct PlacementChoice {
  std::string cluster;            // "" if none fits now
  Reason reason = Reason::kNone;  // kNoMemberCluster or kWaitingForCapacity if none
  std::string message;
  std::vector<ClusterVerdict> verdicts;  // filled only if asked for
};

/// The members that a job may go to, best first; where there is room is not looked at.
struct MemberOrder {
  std::vector<std::string> members;
  std::string refused;  // why not others: "member cluster a: ..."
};

/// Ties: the larger free share of the job's dominant resource after placing, then a stable hash of
/// (job uid, cluster) (rule P11).
PlacementChoice Place(const ConfigView& config, std::span<const ClusterView> clusters,
                      const PlacementDemand& demand, bool want_verdicts);

/// What `admission` has beyond the slice that it replaces, as pods: only their counts are set.
Admission PodsBeyond(const Admission& admission, const Admission& replaced);

/// What the pods ask for together: each pod set's requests times its admitted count, or its
/// declared one without admission.
ResourceList RequestsOf(const PodSets& pod_sets, const Admission* admission);

}  // namespace muster::core
