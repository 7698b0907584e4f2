// The oracle: a naive scheduler that recomputes every figure from the list of held quota when it
// needs it. Written from rules A1 to A41 alone; shares no code with schedd/core.
#pragma once

#include "tests/property/oracle/flavors.h"

namespace muster::oracle {

/// How a workload left its cycle (rule A15).
enum class Requeue { kFailedAfterNomination, kNoFit, kNoCandidates, kGated, kPendingPreemption };

struct AdmittedWorkload {
  int workload = -1;
  Holding holding;
};

struct EvictedWorkload {
  Victim victim;
  int preemptor = -1;
  bool already = false;  // the eviction had begun in an earlier cycle
};

struct WaitingWorkload {
  int workload = -1;
  WaitReason why = WaitReason::kNone;
  Requeue requeue = Requeue::kNoFit;
};

struct Decisions {
  std::vector<AdmittedWorkload> admitted;  // in the order decided
  std::vector<EvictedWorkload> evicted;
  std::vector<WaitingWorkload> waiting;
  bool Moves() const;  // true if a workload was admitted or a new eviction began
};

/// Runs one cycle with one head of every queue and applies it to the world. Time stands still
/// meanwhile; a caller that wants later reservations to have later times moves `clock`.
Decisions RunCycle(World* world);

/// Puts every waiting workload into its queue, as at the start of a world.
void Enqueue(World* world);
/// The jobs of all evicted workloads have stopped: these give their quota back and wait again, and
/// workloads parked in their trees become active.
void FinishEvictions(World* world);
/// A workload that holds quota ends; workloads parked in its tree become active.
void Finish(World* world, int workload);
/// True if the workload waits and is not parked.
bool IsActive(const World& world, int workload);
/// Everything that decides the next cycles, as text: equal texts have equal futures.
std::string StateOf(const World& world);

/// Runs cycles, and finishes evictions after each, until nothing is evicted and a state repeats, or
/// for `most` cycles.
std::vector<Decisions> RunToQuiescence(World* world, int most);

}  // namespace muster::oracle
