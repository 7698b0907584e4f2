// Rollout: the rows of one placement as they are to be next: who is picked, who goes, and whose
// turn it is to be told of the latest revision (rules P20, P21). Pure.
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

/// What one plan knows of one placement.
struct RolloutInput {
  const Placement* placement = nullptr;
  const ResourceSnapshot* latest = nullptr;
  const Renderer* renderer = nullptr;  // of `latest`
  const std::vector<core::ClusterView>* clusters = nullptr;
  std::map<std::string, Pick> picks;
  std::vector<WorkPtr> works;  // all of the placement, of members that exist
  const core::Evictions* evictions = nullptr;
  WallTime now;
};

/// Adds rows that change or end to the plan, and when time alone changes something.
///
/// With N picked members, at least N - maxUnavailable of them keep what is ready while others are
/// told of something new or leave, and at most N + maxSurge have it at a time. What is not ready is
/// told at once: that costs nobody anything, and it is how a bad revision is replaced. A member
/// that does not answer is told when it answers again, so that it holds up nobody else.
///
/// What was evicted leaves at once: its budget was asked when that was decided. Its member may be
/// among the picks, but is told of nothing before all is gone from it.
void RollOut(const RolloutInput& input, WorkPlan* plan);

/// The row of a member that is not to have it any more; `abandon`: objects stay there.
void Leave(Work* work, bool abandon);

/// Adds a row to the plan: changed, or ended if it is leaving and nothing is left on the member.
void Record(const WorkPtr& before, Work now, WorkPlan* plan);

}  // namespace muster::propagation
