// MemberCandidates: the members whose own queues may be asked to admit a job that holds quota (rule
// P33): those that its placement allows, that serve its kind and could hold it if they were empty.
// Whether there is room now is for their queues to decide. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schedd/core/member/member_room.h"

namespace muster::core {

struct MemberCandidates {
  std::vector<std::string> members;            // best first
  std::map<std::string, std::string> refused;  // by name: why the others are not asked
};

/// `room` is that of a snapshot: what the job itself holds there counts as free, and the job does
/// not count for spread constraints. `placed` may be null.
MemberCandidates CandidatesOf(const ConfigView& config, const AdmissionSettings& settings,
                              MemberRoom room, const PlacedCounts* placed, const JobRecord& job,
                              WallTime now);

/// The counts for the spread constraints of the placement, with one job less on `cluster`.
PlacedCounts CountsWithout(const PlacedCounts& counts, const Placement& placement,
                           const std::string& cluster);

}  // namespace muster::core
