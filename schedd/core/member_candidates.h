// MemberCandidates: the members whose own queues may be asked to admit a job that holds quota
// (placement.md 2.1): those that its placement lets it go to, that serve its kind and could hold
// it. Whether there is room now is their queues' to say. Pure.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "schedd/core/snapshot.h"

namespace muster::core {

struct MemberCandidates {
  std::vector<std::string> members;            // the best first
  std::map<std::string, std::string> refused;  // the others: why not, "is cordoned"
};

/// `clusters` as in a snapshot: what the job itself holds on one of them counts as free. `placed`
/// may be null.
MemberCandidates CandidatesOf(const ConfigView& config, const AdmissionSettings& settings,
                              std::span<const ClusterView> clusters, const PlacedCounts* placed,
                              const JobRecord& job, WallTime now);

}  // namespace muster::core
