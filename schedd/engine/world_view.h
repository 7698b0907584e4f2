// WorldView: the last committed world, immutable. Readers (lists, explain, metrics) hold a
// shared_ptr and never touch the engine. Publishing shares structure: only chunks of jobs that
// changed are new.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "schedd/base/shared_map.h"
#include "schedd/core/snapshot.h"
#include "schedd/model/dispatch.h"
#include "schedd/model/job.h"
#include "schedd/model/set_aside.h"
#include "schedd/model/work.h"

namespace muster {

/// Jobs by id: chunks of consecutive ids. Copying a JobTable copies one vector of pointers.
///
/// A published copy is never edited; the one writer edits its own, which clones a chunk at its
/// first edit after Seal.
class JobTable {
 public:
  static constexpr std::int64_t kChunk = 256;
  JobPtr Find(JobId id) const;  // null if absent
  /// Calls `visit` in id order for ids > after, until it returns false.
  void ForEach(JobId after, const std::function<bool(const JobPtr&)>& visit) const;
  std::size_t size() const { return size_; }
  void Put(JobPtr job);
  void Erase(JobId id);
  /// Marks every chunk as shared: later edits clone. Called when a copy is published.
  void Seal();

 private:
  struct Chunk {
    std::array<JobPtr, kChunk> jobs;
    std::int32_t used = 0;
  };
  struct Slot {
    std::int64_t number = 0;  // id / kChunk
    std::shared_ptr<Chunk> chunk;
    bool owned = false;  // by the writer since the last Seal
  };
  std::vector<Slot>::iterator SlotOf(std::int64_t number);
  static Chunk& Owned(Slot& slot);
  std::vector<Slot> slots_;  // by number
  std::size_t size_ = 0;
};

using ObjectKey = std::tuple<ObjectKind, std::string, std::string>;  // kind, namespace, name
using ObjectTable = SharedMap<ObjectKey, ObjectPtr>;

struct QueueStats {
  std::size_t active = 0, inadmissible = 0;  // pending: being tried, waiting for a change
  std::size_t reserving = 0, admitted = 0;   // holding quota; those of them that were dispatched
  std::size_t finished = 0;                  // ended and still in memory
};

/// What admission fair sharing knows of one LocalQueue (kueue.md 2.10, 3.3).
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
