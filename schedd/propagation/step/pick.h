// PickMembers: on which members the configuration objects of a placement should be (rules P4 to
// P10). Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "schedd/core/member/member_room.h"
#include "schedd/world/world_view.h"

namespace muster::propagation {

/// The members among which placements pick.
struct Fleet {
  const std::vector<core::ClusterView>* clusters = nullptr;
  /// The room of `clusters`.
  const core::MemberRoom* room = nullptr;
  const std::function<bool(const std::string& cluster)>* takes_objects = nullptr;
};

struct Pick {
  /// The member has a work of the same policy already; its scores stay as they are.
  bool kept = false;
  std::int32_t affinity_score = 0, spread_score = 0;
};

/// True if the member can be told something now. The labels of a member that has not been heard of
/// since this daemon started are not known yet.
inline bool Answers(const MemberCluster& member) {
  return member.healthy && member.observed_at.set();
}

/// The picks by member. `works` are the placement's rows of members that exist. A member with a row
/// of the same policy stays picked, whatever its labels and taints have become (KubeFleet's
/// IgnoredDuringExecution); a changed policy picks anew. New picks go to members that answer, are
/// not cordoned and take objects.
///
/// PickN takes the best by (group, spread score, affinity score, objects there before, name). If
/// there are too many, rows are dropped as in KubeFleet: those that are not bound first, then the
/// lowest scores.
std::map<std::string, Pick> PickMembers(const Fleet& fleet, const PlacementPtr& placement,
                                        const std::vector<WorkPtr>& works);

}  // namespace muster::propagation
