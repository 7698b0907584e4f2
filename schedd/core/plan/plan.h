// Plan: the decisions of one cycle. Its diagnostics are data too; nothing is logged while deciding.
// schedd/core/README.md says what the engine does with each part.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "schedd/core/plan/assignment.h"
#include "schedd/core/plan/requeue.h"
#include "schedd/model/job.h"

namespace muster::core {

/// One workload whose quota is to be reserved, and its member cluster.
struct PlannedAdmission {
  JobPtr job;
  AdmissionPtr admission;
  std::string cluster;  // "" only when the snapshot has no clusters
  std::int32_t borrowing_level = 0;
  /// The job held this quota already; only the open part (topology, replaced nodes) is new.
  bool second_pass = false;
  JobPtr replaced;  // elastic: the slice that this one replaces; null: none
  /// Why this member was chosen, in KubeFleet's words; "" if no placement governs the job.
  std::string placed;
  AssignmentPtr assignment;  // the flavors considered; null unless CycleInput asks for it
};

/// One workload that loses its quota, in two steps (rule A50): it is marked now and holds its quota
/// until its pods are gone.
struct Eviction {
  JobPtr victim;
  Reason reason = Reason::kNone;             // kPreempted, kFlavorMigration, kNodeFailures
  Reason preemption_reason = Reason::kNone;  // only kPreempted: kInClusterQueue, ...
  JobPtr preemptor;                          // null for kNodeFailures
  std::string detail;                        // only kNodeFailures: why no other node will do
  std::string preemptor_path, victim_path;   // only kPreempted: "/root/child/queue"
};

/// A workload that was looked at and does not start now.
struct UnadmittedWorkload {
  JobPtr job;
  Reason reason = Reason::kNone;
  std::string message;  // the sentence a user reads (rule A59)
  RequeueReason requeue = RequeueReason::kGeneric;
  /// Trying the workload again cannot end otherwise before something changes: if it stays active,
  /// its queue waits behind it (PendingQueues::Settle).
  bool block = false;
  bool preemption_gated = false;    // condition BlockedOnPreemptionGates
  bool second_pass = false;         // holds quota; to be tried again later (SecondPassQueue)
  bool skipped_preemption = false;  // it had victims and was skipped nevertheless
  /// Concurrent admission: the admission that quota allows and no member has room for; null
  /// otherwise. The queue remembers it (QueueHeads::short_of_room).
  AdmissionPtr short_of_room;
  LastAssignmentPtr last;    // where its flavor search ended; null: start over
  AssignmentPtr assignment;  // the flavors considered; null unless CycleInput asks for it
};

/// A preemptor whose assignment was made anew because another entry of the round had chosen its
/// victims (metric preemption_target_recomputations_total).
struct Recomputation {
  enum class Result : std::uint8_t { kNewTargets, kDeferredFit, kSkipped };
  std::string cluster_queue;
  Result result = Result::kSkipped;
};

struct Plan {
  std::vector<PlannedAdmission> admits;  // in the order decided
  std::vector<Eviction> evictions;       // each victim once
  /// Each workload at most once, with its last verdict.
  std::vector<UnadmittedWorkload> not_admitted;
  std::vector<Recomputation> recomputations;
  /// Nothing more may be admitted until every admitted workload has its pods ready
  /// (waitForPodsReady.blockAdmission).
  bool wait_for_pods_ready = false;
  bool more_work = false;  // the plan ended before the work did: decide again at once
  std::size_t heads_evaluated = 0;
  std::size_t rounds = 0;  // the number of single-head cycles that this plan stands for
  bool empty() const { return admits.empty() && evictions.empty() && not_admitted.empty(); }
};

}  // namespace muster::core
