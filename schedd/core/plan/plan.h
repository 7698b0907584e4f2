// Plan: what one cycle decided. Diagnostics are data in it; nothing is logged while deciding.
// schedd/core/README.md says what an engine must do with each part.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "schedd/core/plan/assignment.h"
#include "schedd/core/plan/requeue.h"
#include "schedd/model/job.h"

namespace muster::core {

/// Reserve quota for a workload and place it.
struct Admit {
  JobPtr job;
  AdmissionPtr admission;
  std::string cluster;  // "" only when the snapshot has no clusters
  std::int32_t borrowing_level = 0;
  /// It held this quota already: only what was still open of it (topology, replaced nodes) is new.
  bool second_pass = false;
  JobPtr replaced;  // elastic: the slice that it takes over from; null: none
  /// Why this member, in KubeFleet's words; "" if no placement governs the job.
  std::string placed;
  AssignmentPtr assignment;  // what was looked at; null unless asked for
};

/// Take a workload's quota away, in two steps (rule A50): it is marked now and holds what it
/// has until its pods are gone.
struct Eviction {
  JobPtr victim;
  Reason reason = Reason::kNone;             // kPreempted, kFlavorMigration, kNodeFailures
  Reason preemption_reason = Reason::kNone;  // of kPreempted: kInClusterQueue, ...
  JobPtr preemptor;                          // null for kNodeFailures
  std::string detail;                        // of kNodeFailures: why no other node would do
  std::string preemptor_path, victim_path;   // "/root/child/queue", of kPreempted
};

/// A workload that was looked at and does not start now.
struct NotAdmitted {
  JobPtr job;
  Reason reason = Reason::kNone;
  std::string message;  // the sentence a user reads (rule A59)
  RequeueReason requeue = RequeueReason::kGeneric;
  /// Trying it again cannot end otherwise before something changes: its queue waits behind it if it
  /// stays active (PendingQueues::Settle).
  bool block = false;
  bool preemption_gated = false;    // condition BlockedOnPreemptionGates
  bool second_pass = false;         // holds quota; to be tried again later (SecondPassQueue)
  bool skipped_preemption = false;  // had found victims and was skipped all the same
  /// Concurrent admission: quota would serve it so, and no member has the room; null otherwise. Its
  /// queue remembers that (QueueHeads::short_of_room).
  AdmissionPtr short_of_room;
  LastAssignmentPtr last;    // where its flavor search ended; null: start over
  AssignmentPtr assignment;  // what was looked at; null unless asked for
};

/// A preemptor whose victims were others' already searched anew
/// (preemption_target_recomputations_total).
struct Recomputation {
  enum class Result : std::uint8_t { kNewTargets, kDeferredFit, kSkipped };
  std::string cluster_queue;
  Result result = Result::kSkipped;
};

struct Plan {
  std::vector<Admit> admits;              // in the order decided
  std::vector<Eviction> evictions;        // each victim once
  std::vector<NotAdmitted> not_admitted;  // each workload at most once, last verdict
  std::vector<Recomputation> recomputations;
  /// Nothing more may be admitted until every admitted workload has its pods ready
  /// (waitForPodsReady.blockAdmission).
  bool wait_for_pods_ready = false;
  bool more_work = false;  // the budget ended the cycle: call again
  std::size_t heads_evaluated = 0;
  std::size_t rounds = 0;  // single-head cycles that it stands for
  bool empty() const { return admits.empty() && evictions.empty() && not_admitted.empty(); }
};

}  // namespace muster::core
