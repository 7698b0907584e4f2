// MemberCandidates: the members whose own queues may be asked to admit a job that holds quota
// (rule P33): those that its placement lets it go to, that serve its kind and could hold
// it. Whether there is room now is their queues' to say. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schedd/core/member/member_room.h"

namespace muster::core {

struct MemberCandidates {
  std::vector<std::string> members;            // the best first
  std::map<std::string, std::string> refused;  // the others: why not, "is cordoned"
};

/// `room` as of a snapshot: what the job itself holds there counts as free, and it does not count
/// for spread constraints. `placed` may be null.
MemberCandidates CandidatesOf(const ConfigView& config, const AdmissionSettings& settings,
                              MemberRoom room, const PlacedCounts* placed, const JobRecord& job,
                              WallTime now);

/// What spread constraints of the placement count, as if one job on `cluster` were not there.
PlacedCounts CountsWithout(const PlacedCounts& counts, const Placement& placement,
                           const std::string& cluster);

}  // namespace muster::core
