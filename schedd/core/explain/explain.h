// Explain: why a job waits, or why it is where it is, in numbers. The answers come from the
// functions that decide: the flavor search, Decide and its search for victims, called on the
// present state and on states that differ in one thing. Pure; equal inputs give equal explanations.
// When the job may start is not answered here: that takes a run on a virtual clock
// (schedd/simulate).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedd/core/cycle/snapshot.h"
#include "schedd/core/flavor/flavor_assigner.h"
#include "schedd/core/member/placement.h"

namespace muster::core {

/// How one flavor serves one resource of one pod set.
struct FlavorFinding {
  /// "needs 16 nvidia.com/gpu; team-research can use 24, 11 are used, 13 free". For a flavor that
  /// cannot host the pods the reason, with resource "".
  FlavorVerdict verdict;
  std::int64_t missing = 0;  // the amount that must become free; 0 if it fits or never can
  /// The limit that binds: "cohort all shares 24, 24 are used". For a job that holds quota, why a
  /// flavor with room was not taken. "" if there is nothing to say.
  std::string limit;
  bool chosen = false;  // the flavor that the job holds or would get
};

/// The job's place among the workloads of its ClusterQueue that wait and may be tried.
struct QueuePlace {
  std::size_t position = 0, waiting = 0;  // in the ClusterQueue, from 1; 0: it does not wait
  std::size_t local_position = 0, local_waiting = 0;  // the same in the LocalQueue
  std::vector<JobPtr> ahead;  // the first jobs of the queue, as far as they are before this one
  JobPtr blocker;             // no other job of the queue starts before this one
  std::string blocked;        // the sentence about the blocker; "" without one
};

/// The workloads of one ClusterQueue that hold quota which the job lacks.
struct QueueHolders {
  std::string cluster_queue;
  bool own = false;           // the job's own ClusterQueue
  std::size_t workloads = 0;  // the number of these workloads
  std::size_t allowed = 0;    // the number of those that the policy allows to evict
  std::vector<std::pair<std::string, std::int64_t>> amounts;  // by resource
  std::vector<JobPtr> first;                                  // the first few of them
  std::string verdict;  // whether they may be preempted for the job, and why not
};

/// The preemptions that the job needs, or would need.
struct PreemptionFinding {
  bool asked = false;                 // the job lacks quota that other workloads use
  std::string policies;               // of its ClusterQueue, as written in its spec
  std::vector<JobPtr> victims;        // the jobs that it preempts, or waits for
  std::string outcome;                // one sentence
  std::vector<QueueHolders> held_by;  // its own queue first, then by name; at most kExplainQueues
  std::size_t more_queues = 0;        // the number of further queues with such holders
  std::vector<std::string> would_allow;  // changes that would allow a preemption
};

/// The answer; parts that do not concern the job's state are empty.
struct Explanation {
  JobPtr job;
  JobState state = JobState::kPending;
  std::string reason;              // the name of a Reason
  std::string summary;             // one sentence
  std::string message;             // Kueue's sentence, if it says more than the summary
  std::vector<std::string> facts;  // one sentence each: times, what it holds, where it runs
  QueuePlace place;
  std::vector<FlavorFinding> flavors;
  std::vector<ClusterVerdict> clusters;
  PreemptionFinding preemption;
  /// Changes that would let the job start: "3 more nvidia.com/gpu of flavor gpu-a100 free in cohort
  /// all".
  std::vector<std::string> would_help;
};

/// A gate outside of the queues that is closed for a waiting job.
struct ExplainGate {
  Reason reason = Reason::kNone;
  std::string message;  // one sentence
  std::string opens;    // what would open it
};

struct ExplainInput {
  /// The present state; its heads and second passes are ignored.
  Snapshot snapshot;
  JobPtr job;
  /// The waiting jobs (kPending), this one among them, in any order. Only those of its ClusterQueue
  /// count.
  std::vector<JobPtr> waiting;
  /// Such as a dependency; whoever asks knows it, since no cycle sees such a job.
  std::optional<ExplainGate> gate;
};

Explanation Explain(const ExplainInput& input);

/// The order of a ClusterQueue (rule A12): of `waiting` those that may be tried. The first `many`
/// are in order, which is their positions from 1; behind them are the others, in any order.
std::vector<JobPtr> OrderOfQueue(const Snapshot& snapshot, const std::string& cluster_queue,
                                 const std::vector<JobPtr>& waiting, std::size_t many);

/// "job 17 (default/train)".
std::string MentionOf(const JobRecord& job);
/// The first of `all` jobs, and how many more: "job 17 (default/a), job 18 (default/b) and 3 more".
std::string MentionsOf(const std::vector<JobPtr>& jobs, std::size_t all);
/// "45s", "12m", "3h20m", "2d4h": the two largest units.
std::string SpanText(std::int64_t seconds);

}  // namespace muster::core
