// The state of each queue, class and head during one Decide, and what the cache keeps of it for the
// next one. Only for the files of Decide.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "schedd/core/cycle/cycle_cache.h"
#include "schedd/core/cycle/cycle_order.h"
#include "schedd/core/cycle/snapshot.h"
#include "schedd/core/flavor/flavor_plan.h"
#include "schedd/core/member/member_fit.h"
#include "schedd/core/plan/plan.h"
#include "schedd/core/queue/gates.h"

namespace muster::core {

// An admission compared with the members, for all workloads of a class that may use the same
// cluster groups.
struct CycleFit {
  AdmissionPtr admission;
  std::int64_t next_group = -1;  // NextGroupAfter the time waited: the cluster groups still closed
  PlacementAsk ask;
  std::unique_ptr<MemberFit> fit;  // refers to `ask`
};

// What is computed once for all workloads of a class.
struct CycleClass {
  std::string scheduling_key;
  std::optional<GateVerdict> gate;  // of namespace and LocalQueue
  std::unique_ptr<FlavorPlan> plan;
  PodSetsPtr pod_sets;  // the pod sets that `plan` refers to
  bool asks = false;    // a placement or the job itself may limit its members
  // Valid in one plan only.
  std::uint64_t cycle = 0;  // the cache's number of that plan
  bool set_aside = false;   // the gate is closed
  std::vector<std::unique_ptr<CycleFit>> fits;
};

struct CycleQueue;

// What follows from the configuration of a ClusterQueue.
struct CachedQueue {
  const ClusterQueue* spec = nullptr;  // null: it does not exist
  NodeIndex node = -1;
  std::optional<GateVerdict> gate;
  std::unordered_map<std::string, CycleClass> classes;  // never iterated
  std::uint64_t cycle = 0;                              // the cache's number of the plan of `now`
  CycleQueue* now = nullptr;                            // the queue's state in that plan
};

struct CycleCache::Contents {
  /// To be called once for each Decide.
  void Begin(const Snapshot& snapshot);
  /// The facts about a queue, made at the first call.
  CachedQueue& Of(const std::string& cluster_queue);

  ConfigPtr config;
  AdmissionSettingsPtr settings;
  QuotaTreePtr tree;
  std::unordered_map<std::string, CachedQueue> queues;  // never iterated
  std::size_t classes = 0;                              // of all queues together
  std::uint64_t cycle = 0;                              // the number of calls of Begin
};

// A workload that has quota, and no member has room for it; or it would have to preempt for the
// quota.
struct RoomShortage {
  JobPtr job;
  AdmissionPtr admission;         // the admission that quota allows now; null: none does
  Reason reason = Reason::kNone;  // the verdict of this plan; kNone: noted by an earlier plan
  std::string message;
};

// The state of one ClusterQueue during one plan.
struct CycleQueue {
  const QueueHeads* heads = nullptr;  // null: the queue has second passes only
  CachedQueue* known = nullptr;
  const ClusterQueue* spec = nullptr;  // null: it does not exist
  NodeIndex node = -1;
  std::size_t next = 0;                    // position of the head in heads->jobs
  CycleClass* head_class = nullptr;        // the class of the head
  std::unordered_set<std::string> parked;  // scheduling keys; never iterated
  JobId preemptor;                         // the workload that waits for its victims; 0: none
  // The head's last flavor search in this plan; valid if `tried`, else the snapshot's counts.
  LastAssignmentPtr last;
  bool tried = false;
  bool resumed = false;  // the head's last search did not start at the first flavor
  // Since the last round that changed something: a search has started at the first flavor, and
  // such a search has come to its end.
  bool searched_whole = false;
  bool tried_all = false;
  std::vector<RoomShortage> short_of_room;
  std::optional<UnadmittedWorkload> waiting;  // the verdict of the head, if it stays active
  const JobPtr& head() const { return heads->jobs[next]; }
  bool strict() const { return spec != nullptr && spec->strategy == QueueingStrategy::kStrictFifo; }
};

// A workload that was nominated in this round.
struct CycleEntry {
  JobPtr job;
  CycleQueue* queue = nullptr;
  CycleClass* of = nullptr;
  bool second_pass = false;
  EntryRank rank;
  Preemptor preemptor;
  LastAssignmentPtr resumed;  // the search that this one resumed; null: it began at the start
  // Either a choice of the flavor plan, which fits ...
  const FlavorChoice* choice = nullptr;
  // ... or the result of a complete search.
  AssignmentPtr assignment;
  FlavorMode mode = FlavorMode::kNoFit;
  bool deferred = false;     // it fits once the victims of other entries are gone
  AdmissionPtr admission;    // the admission if it fits, now or after evictions; else null
  Charges adds;              // what it adds to the queue's usage
  TopologyCharges machines;  // what it adds to the machines' usage
  std::vector<Victim> victims;
  HolderPtr replaced;                // elastic jobs: the slice that this one replaces
  std::vector<std::int32_t> counts;  // partial admission: pods by pod set; empty: all pods

  std::span<const Charge> Adds() const { return choice != nullptr ? choice->charges : adds; }
};

}  // namespace muster::core
