// WorldView: the last committed world, immutable. Readers (lists, explain, metrics) hold a
// shared_ptr and never touch the engine. A new version shares all chunks of jobs that did not
// change.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "schedd/base/shared_map.h"
#include "schedd/core/cycle/snapshot.h"
#include "schedd/model/dispatch.h"
#include "schedd/model/job.h"
#include "schedd/model/set_aside.h"
#include "schedd/model/work.h"
#include "schedd/world/job_table.h"

namespace muster {

using ObjectKey = std::tuple<ObjectKind, std::string, std::string>;  // kind, namespace, name
using ObjectTable = SharedMap<ObjectKey, ObjectPtr>;

/// Numbers of workloads of one ClusterQueue.
struct QueueStats {
  /// Pending: tried in the next cycles, or parked until something changes.
  std::size_t active = 0, inadmissible = 0;
  /// Holding quota, and those of them that were dispatched.
  std::size_t reserving = 0, admitted = 0;
  /// Ended and still in memory.
  std::size_t finished = 0;
};

/// What admission fair sharing knows of one LocalQueue (rules A42, A60).
struct FairUse {
  ResourceList consumed;  // decayed
  WallTime updated;
};
using FairUses = std::map<std::pair<std::string, std::string>, FairUse>;  // by (namespace, name)

/// Objects on members that are left alone, by (cluster, uid).
using SetAsideObjects = std::map<std::pair<std::string, std::string>, SetAsideObject>;

struct WorldView {
  ConfigPtr config;
  AdmissionSettingsPtr settings = std::make_shared<const AdmissionSettings>();
  std::shared_ptr<const ObjectTable> objects;
  /// Live jobs, and those that ended lately.
  JobTable jobs;
  core::Usage usage;
  std::vector<core::ClusterView> clusters;
  /// Null: no placement has spread constraints.
  std::shared_ptr<const core::PlacedCounts> placed;
  /// By ClusterQueue.
  std::map<std::string, QueueStats> queues;
  /// Null: no admission fair sharing.
  std::shared_ptr<const FairUses> fair_uses;
  std::shared_ptr<const SetAsideObjects> set_aside = std::make_shared<const SetAsideObjects>();
  std::shared_ptr<const WorkTable> works = std::make_shared<const WorkTable>();
  std::int64_t last_seq = 0;  // every event up to it is in the view, or will never be
  /// A job that has ended and is not in `jobs` has no event above this one.
  std::int64_t retired_seq = 0;
  WallTime as_of;
  /// Recovery is done and this daemon leads.
  bool ready = false;
  std::vector<std::string> not_ready_reasons;
};
using WorldViewPtr = std::shared_ptr<const WorldView>;

}  // namespace muster
