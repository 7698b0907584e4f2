// Flavor assignment and partial admission, written from rules A20 (assignment of a head), A27
// to A31, A33 and A34; no topology.
#pragma once

#include "tests/property/oracle/victims.h"

namespace muster::oracle {

/// Why a workload waits. The first four are in the order of rule A33, from mild to severe.
enum class WaitReason {
  kNone,
  kWaitingForQuota,
  kExceedsMaxQuota,
  kNoMatchingFlavor,
  kWaitingForPreempted,
  kPreemptionGated
};

enum class Mode { kNoFit, kNoCandidates, kPreempt, kReclaim, kFit };

struct Grade {
  Mode mode = Mode::kFit;
  int level = 0;
};
/// True if a flavor graded `a` is preferred to one graded `b` (rule A30).
bool Better(const Grade& a, const Grade& b, bool preempt_before_borrow);

struct Choice {
  int flavor = -1;
  Grade grade;
  int tried = -1;
};

enum class Fitness { kNoFit, kPreempt, kFit };

struct Assignment {
  std::vector<int> counts;
  std::vector<std::map<int, Choice>> choices;  // by pod set: resource -> choice
  Fitness fitness = Fitness::kFit;
  WaitReason why = WaitReason::kNone;  // why the workload does not fit
  int level = 0;
  Wish wish;                    // the quota to be taken, and the part that lacks room
  std::vector<Victim> victims;  // if kPreempt

  Holding ToHolding(int now) const;
  std::vector<std::map<int, int>> Tried() const;
};

/// True if the workload's flavor search resumes where an earlier one ended.
bool Resumes(const World& world, int workload);

/// By pod set: resource -> the only flavor that may be used.
using Mapping = std::vector<std::map<int, int>>;

/// Assigns flavors to a waiting workload, given the quota held in the ledger, and looks for victims
/// if it does not fit. `only`, if set, is the nomination that a recomputation must keep; the search
/// then starts from the first flavor.
Assignment Nominate(const World& world, int workload, const Mapping* only, Ledger* ledger);

}  // namespace muster::oracle
