// PickMembers: on which members the configuration objects of a placement are to be (rules P4
// to P10). Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "schedd/core/member/member_room.h"
#include "schedd/world/world_view.h"

namespace muster::propagation {

/// What picks look at, beside the placement.
struct Fleet {
  const std::vector<core::ClusterView>* clusters = nullptr;
  const core::MemberRoom* room = nullptr;  // of `clusters`
  const std::function<bool(const std::string& cluster)>* takes_objects = nullptr;
};

struct Pick {
  bool kept = false;  // a work is there, of the same policy: its scores stay as they are
  std::int32_t affinity_score = 0, spread_score = 0;
};

/// The member can be told something now. One that was not heard of since this daemon started is not
/// known by its labels yet.
inline bool Answers(const MemberCluster& member) {
  return member.healthy && member.observed_at.set();
}

/// A digest of the policy, by which it is known that members have to be picked anew: without the
/// number of clusters and their names, which need no new pick of those that stay.
std::string PolicyDigest(const PlacementPolicy& policy);

/// By member. `works` are those of the placement whose members exist. What a member has of the same
/// policy stays, whatever became of the member (IgnoredDuringExecution); a changed policy asks
/// again. New ones go to members that answer, are not cordoned and take objects.
///
/// PickN: the most by (group, spread score, affinity score, being there before, name). Too many are
/// dropped as KubeFleet does: those that are not bound first, then the lowest scores.
std::map<std::string, Pick> PickMembers(const Fleet& fleet, const PlacementPtr& placement,
                                        const std::vector<WorkPtr>& works);

}  // namespace muster::propagation
