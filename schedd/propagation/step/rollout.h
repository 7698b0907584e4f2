// Rollout: the next rows of one placement: which members are picked, which leave, and which are
// told of the latest revision now (rules P20, P21). Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schedd/core/member/disruption.h"
#include "schedd/propagation/step/pick.h"
#include "schedd/propagation/step/plan.h"
#include "schedd/propagation/step/render.h"
#include "schedd/world/world_view.h"

namespace muster::propagation {

/// What the rollout of one placement depends on.
struct RolloutInput {
  const Placement* placement = nullptr;
  const ResourceSnapshot* latest = nullptr;
  /// Of `latest`.
  const Renderer* renderer = nullptr;
  const std::vector<core::ClusterView>* clusters = nullptr;
  std::map<std::string, Pick> picks;
  /// All rows of the placement on members that exist.
  std::vector<WorkPtr> works;
  const core::Evictions* evictions = nullptr;
  WallTime now;
};

/// Adds to the plan the rows that change or end, and the time at which time alone changes
/// something.
///
/// With N picked members, at least N - maxUnavailable of them stay ready while others are updated
/// or leave, and at most N + maxSurge have the objects at a time. A row that is not ready is
/// updated at once: that makes no member less available, and it is how a bad revision is replaced.
/// A member that does not answer is updated when it answers again, so that it does not hold up the
/// others.
///
/// An evicted row leaves at once: its budget was checked when the eviction was decided. Its member
/// may be picked again, but gets nothing before all objects are gone from it.
void RollOut(const RolloutInput& input, WorkPlan* plan);

/// Makes the row of a member leave; `abandon`: its objects stay on the member.
void Leave(Work* work, bool abandon);

/// Adds a row to the plan if it has changed; a leaving row without anything left on the member
/// ends.
void Record(const WorkPtr& before, Work now, WorkPlan* plan);

}  // namespace muster::propagation
