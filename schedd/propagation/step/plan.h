// PlanWorks: which configuration objects each placement selects, on which members they should be,
// and which members get a change now (rules P3, P4, P20, P21). Pure: equal worlds give equal plans.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "schedd/world/world_view.h"

namespace muster::propagation {

/// Rows to record. A plan made on a world that has these rows is empty.
struct WorkPlan {
  /// New rows and changed ones.
  std::vector<WorkPtr> works;
  std::vector<WorkKey> ended_works;
  std::vector<SnapshotPtr> snapshots;
  std::vector<SnapshotKey> ended_snapshots;
  /// When time alone may change the plan; unset: only a change of the world can.
  WallTime again_at;
  bool empty() const {
    return works.empty() && ended_works.empty() && snapshots.empty() && ended_snapshots.empty();
  }
};

/// `takes_objects`: whether a member takes configuration objects at all.
WorkPlan PlanWorks(const WorldView& world,
                   const std::function<bool(const std::string& cluster)>& takes_objects,
                   WallTime now);

}  // namespace muster::propagation
