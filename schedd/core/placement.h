// Placement: on which member cluster an admitted job runs. First part: eligibility and room;
// policies come with backends/fleet. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "schedd/core/snapshot.h"

namespace muster::core {

/// What a job needs of a member.
struct PlacementDemand {
  const PodSets* pod_sets = nullptr;
  const Admission* admission = nullptr;
  Uid job_uid;             // stable tie-break
  std::uint64_t seed = 0;  // the cycle's, mixed into the tie-break
};

struct ClusterVerdict {
  std::string cluster;
  bool eligible = false;  // could hold it if it were empty
  bool fits_now = false;
  std::string message;  // "needs 16 nvidia.com/gpu, 15 of 16 free"
};

struct PlacementChoice {
  std::string cluster;            // "" if none fits now
  Reason reason = Reason::kNone;  // kNoMemberCluster or kWaitingForCapacity if none
  std::string message;
  std::vector<ClusterVerdict> verdicts;  // filled only if asked for
};

/// Ties: the larger free share of the job's dominant resource after placing, then a stable hash of
/// (job uid, cluster) (placement.md 4.4 step 5).
PlacementChoice Place(const ConfigView& config, std::span<const ClusterView> clusters,
                      const PlacementDemand& demand, bool want_verdicts);

/// What `admission` has beyond the slice that it replaces, as pods: only their counts are set.
Admission PodsBeyond(const Admission& admission, const Admission& replaced);

/// What the pods ask for together: each pod set's requests times its admitted count, or its
/// declared one without admission.
ResourceList RequestsOf(const PodSets& pod_sets, const Admission* admission);

}  // namespace muster::core
