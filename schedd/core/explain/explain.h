// Explain: why a job waits or is where it is, in numbers, by the functions that decide: the flavor
// search, Decide and its search for victims, asked on the state as it is and on states that differ
// in one thing. Pure; equal inputs give equal explanations. When it may start is not here: that
// takes a run on a virtual clock (schedd/simulate).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "schedd/core/cycle/snapshot.h"
#include "schedd/core/flavor/flavor_assigner.h"
#include "schedd/core/member/placement.h"

namespace muster::core {

/// How one flavor fares for one resource of one pod set.
struct FlavorFinding {
  /// "needs 16 nvidia.com/gpu; team-research can use 24, 11 are used, 13 free"; of a flavor that
  /// cannot host the pods why not, with resource "".
  FlavorVerdict verdict;
  std::int64_t missing = 0;  // what must become free for it; 0 if it fits or never can
  /// What holds it back: "cohort all shares 24, 24 are used"; of a job that holds quota, why
  /// another flavor that would do was not taken; "" if there is nothing to say.
  std::string limit;
  bool chosen = false;  // what the job holds or would get
};

/// Its place among those that wait in its ClusterQueue and may be tried.
struct QueuePlace {
  std::size_t position = 0, waiting = 0;  // in the ClusterQueue, from 1; 0: it waits not
  std::size_t local_position = 0, local_waiting = 0;  // in the LocalQueue
  std::vector<JobPtr> ahead;                          // the first of those before it, in order
  JobPtr blocker;                                     // none of its queue starts before this one
  std::string blocked;                                // the sentence about it; "" without blocker
};

/// Those of one ClusterQueue that hold what the job lacks.
struct HeldBy {
  std::string cluster_queue;
  bool own = false;           // the job's own ClusterQueue
  std::size_t workloads = 0;  // that hold some of it
  std::size_t allowed = 0;    // of them those whose priority the policy gives away
  std::vector<std::pair<std::string, std::int64_t>> amounts;  // by resource
  std::vector<JobPtr> first;                                  // some of them
  std::string verdict;  // whether they may be preempted for it, and why not
};

/// Who would have to be preempted.
struct PreemptionFinding {
  bool asked = false;           // quota that others use is what it lacks
  std::string policies;         // of its ClusterQueue, as written in its spec
  std::vector<JobPtr> victims;  // whom it does preempt, or waits for
  std::string outcome;          // one sentence
  std::vector<HeldBy> held_by;  // its own queue first, then by name; at most kExplainQueues
  std::size_t more_queues = 0;  // that hold some of it too
  std::vector<std::string> would_allow;  // what else would have to be so
};

struct Explanation {
  JobPtr job;
  JobState state = JobState::kPending;
  std::string reason;              // Reason's name
  std::string summary;             // one sentence
  std::string message;             // the scheduler's own word (Kueue's sentence) if it says more
  std::vector<std::string> facts;  // one sentence each: since when, until when, what it holds
  QueuePlace place;
  std::vector<FlavorFinding> flavors;
  std::vector<ClusterVerdict> clusters;
  PreemptionFinding preemption;
  /// "3 more nvidia.com/gpu of flavor gpu-a100 free in cohort all"
  std::vector<std::string> would_help;
};

struct ExplainInput {
  /// The state; its heads and second passes are not looked at.
  Snapshot snapshot;
  JobPtr job;
  /// Those that wait (kPending), this job among them; any order. Only those of its ClusterQueue
  /// count.
  std::vector<JobPtr> waiting;
};

Explanation Explain(const ExplainInput& input);

/// "job 17 (default/train)".
std::string MentionOf(const JobRecord& job);
/// The same of several: "job 17 (default/a), job 18 (default/b) and 3 more".
std::string MentionsOf(const std::vector<JobPtr>& jobs, std::size_t all);
/// "45s", "12m", "3h20m", "2d4h": the two largest units.
std::string SpanText(std::int64_t seconds);

}  // namespace muster::core
