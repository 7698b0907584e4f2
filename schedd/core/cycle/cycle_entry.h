// What one cycle keeps of each queue, class and head while it decides, and what the next one finds
// of it. Only for the files of Decide.
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

// An admission against the members, for workloads of a class that ask the same of them.
struct CycleFit {
  AdmissionPtr admission;
  std::int64_t next_group = -1;  // NextGroupAfter: what they differ in by waiting
  PlacementAsk ask;
  std::unique_ptr<MemberFit> fit;  // refers to `ask`
};

// What is worked out once for all workloads of a class.
struct CycleClass {
  std::string scheduling_key;
  std::optional<GateVerdict> gate;  // of namespace and LocalQueue
  std::unique_ptr<FlavorPlan> plan;
  PodSetsPtr pod_sets;  // that `plan` refers to
  bool asks = false;    // AskOf may find something
  // Of one plan only.
  std::uint64_t cycle = 0;  // CycleCache's
  bool set_aside = false;   // the gate said no
  std::vector<std::unique_ptr<CycleFit>> fits;
};

struct CycleQueue;

// What the configuration says of a ClusterQueue.
struct KnownQueue {
  const ClusterQueue* spec = nullptr;  // null: it does not exist
  NodeIndex node = -1;
  std::optional<GateVerdict> gate;
  std::unordered_map<std::string, CycleClass> classes;  // looked up, never iterated
  std::uint64_t cycle = 0;                              // CycleCache's, of `now`
  CycleQueue* now = nullptr;                            // its part of that cycle
};

struct CycleCache::Known {
  /// To be called once for each Decide.
  void Begin(const Snapshot& snapshot);
  KnownQueue& Of(const std::string& cluster_queue);

  ConfigPtr config;
  AdmissionSettingsPtr settings;
  QuotaTreePtr tree;
  std::unordered_map<std::string, KnownQueue> queues;  // looked up, never iterated
  std::size_t classes = 0;                             // of all queues
  std::uint64_t cycle = 0;                             // counts Decide
};

// A workload that no member has the room for.
struct ShortOfRoom {
  JobPtr job;
  AdmissionPtr admission;         // that quota would serve; null: it would have to preempt for it
  Reason reason = Reason::kNone;  // found in this plan, with the message; kNone: in one before
  std::string message;
};

// One ClusterQueue's part of the cycle.
struct CycleQueue {
  const QueueHeads* heads = nullptr;  // null: only second passes
  KnownQueue* known = nullptr;
  const ClusterQueue* spec = nullptr;  // null: it does not exist
  NodeIndex node = -1;
  std::size_t next = 0;                    // of heads->jobs
  CycleClass* head_class = nullptr;        // of the job at `next`
  std::unordered_set<std::string> parked;  // scheduling keys; looked up, never iterated
  JobId preemptor;
  LastAssignmentPtr last;       // of the head, once it was tried in this plan
  bool tried = false;           // `last` holds, not what the snapshot says
  bool resumed = false;         // the head's last search did not start at the first flavor
  bool searched_whole = false;  // one that did has seen the state as it is
  bool tried_all = false;       // such a one went to its end
  std::vector<ShortOfRoom> short_of_room;
  std::optional<NotAdmitted> waiting;  // verdict of the head, if it stays active
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
  LastAssignmentPtr resumed;  // where its search went on; null: from the start
  // Either a choice of the plan that fits ...
  const FlavorChoice* choice = nullptr;
  // ... or all that a search found.
  AssignmentPtr assignment;
  FlavorMode mode = FlavorMode::kNoFit;
  bool deferred = false;     // fits once the victims of others are gone
  AdmissionPtr admission;    // of what fits or would; null if nothing does
  Charges adds;              // to the queue's usage
  TopologyCharges machines;  // to the machines' usage
  std::vector<Victim> victims;
  HolderPtr replaced;                // elastic: the slice that it grows out of
  std::vector<std::int32_t> counts;  // partial admission; empty: all pods

  std::span<const Charge> Adds() const { return choice != nullptr ? choice->charges : adds; }
};

}  // namespace muster::core
