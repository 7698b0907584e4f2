// WorldView: the last committed world, immutable. Readers (lists, explain, metrics) hold a
// shared_ptr and never touch the engine. Publishing shares structure: only chunks of jobs that
// changed are new.
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

struct QueueStats {
  std::size_t active = 0, inadmissible = 0;  // pending: being tried, waiting for a change
  std::size_t reserving = 0, admitted = 0;   // holding quota; those of them that were dispatched
  std::size_t finished = 0;                  // ended and still in memory
};

/// What admission fair sharing knows of one LocalQueue (rules A42, A60).
struct FairUse {
  ResourceList consumed;  // decayed
  WallTime updated;
};
using FairUses = std::map<std::pair<std::string, std::string>, FairUse>;  // by (namespace, name)

/// What is left alone on members, by (cluster, uid).
using SetAside = std::map<std::pair<std::string, std::string>, SetAsideObject>;

struct WorldView {
  ConfigPtr config;
  AdmissionSettingsPtr settings = std::make_shared<const AdmissionSettings>();
  std::shared_ptr<const ObjectTable> objects;
  JobTable jobs;  // live ones and those ended lately
  core::Usage usage;
  std::vector<core::ClusterView> clusters;
  std::shared_ptr<const core::PlacedCounts> placed;  // null: no placement has spread constraints
  std::map<std::string, QueueStats> queues;          // by ClusterQueue
  std::shared_ptr<const FairUses> fair_uses;         // null: no admission fair sharing
  std::shared_ptr<const SetAside> set_aside = std::make_shared<const SetAside>();
  std::shared_ptr<const WorkTable> works = std::make_shared<const WorkTable>();
  std::int64_t last_seq = 0;
  WallTime as_of;
  bool ready = false;  // recovery done and leading
  std::vector<std::string> not_ready_reasons;
};
using WorldViewPtr = std::shared_ptr<const WorldView>;

}  // namespace muster
