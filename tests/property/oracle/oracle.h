// The oracle: a naive scheduler that recomputes everything from the list of what is held whenever
// it needs it. Written from rules A1 to A41 alone; shares no code with schedd/core.
#pragma once

#include "tests/property/oracle/flavors.h"

namespace muster::oracle {

/// How a workload left its cycle (rule A15).
enum class Requeue { kFailedAfterNomination, kNoFit, kNoCandidates, kGated, kPendingPreemption };

struct Admitted {
  int workload = -1;
  Holding holding;
};

struct Evicted {
  Victim victim;
  int preemptor = -1;
  bool already = false;  // its eviction had begun before
};

struct Waiting {
  int workload = -1;
  Why why = Why::kNone;
  Requeue requeue = Requeue::kNoFit;
};

struct Decisions {
  std::vector<Admitted> admitted;  // in the order decided
  std::vector<Evicted> evicted;
  std::vector<Waiting> waiting;
  bool Moves() const;  // admitted one, or evicts one that was not being evicted
};

/// One cycle: one head of every queue. Takes effect on the world. Time stands still meanwhile; who
/// wants later reservations to be later moves `clock`.
Decisions RunCycle(World* world);

/// Puts every waiting workload into its queue: how a world starts.
void Enqueue(World* world);
/// The jobs of the evicted have stopped: they give their quota back and wait again; what was parked
/// in their trees is woken.
void FinishEvictions(World* world);
/// A workload that holds quota ends; what was parked in its tree is woken.
void Finish(World* world, int workload);
/// True if a workload waits and is not parked.
bool IsActive(const World& world, int workload);
/// What decides of the next cycles, as text: equal texts, equal future.
std::string StateOf(const World& world);

/// Cycles, with evictions finished after each, until nothing is evicted and a state comes again (or
/// after `most` cycles).
std::vector<Decisions> RunToQuiescence(World* world, int most);

}  // namespace muster::oracle
