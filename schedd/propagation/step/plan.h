// PlanWorks: what placements make of configuration objects (rules P3, P4, P20, P21): which
// objects each selects, on which members, and whose turn it is to get a change. Pure: equal worlds
// give equal plans.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "schedd/world/world_view.h"

namespace muster::propagation {

/// Rows to record. Planned again on a world that has them, it asks for nothing.
struct WorkPlan {
  std::vector<WorkPtr> works;  // new ones and changed ones
  std::vector<WorkKey> ended_works;
  std::vector<SnapshotPtr> snapshots;
  std::vector<SnapshotKey> ended_snapshots;
  WallTime again_at;  // unset: not before the world changes; else time alone may change something
  bool empty() const {
    return works.empty() && ended_works.empty() && snapshots.empty() && ended_snapshots.empty();
  }
};

/// `takes_objects`: whether a member takes configuration objects at all.
WorkPlan PlanWorks(const WorldView& world,
                   const std::function<bool(const std::string& cluster)>& takes_objects,
                   WallTime now);

}  // namespace muster::propagation
