// Simulation: a whole run of a scheduler on a virtual clock, through the same Decide and
// PendingQueues as the daemon, without store, members or threads. Pure: equal scenarios give equal
// runs; time is what the scenario says.
//
// What stands in for the rest of the world: an admitted job starts at once, all its pods are ready,
// and it ends after its own run time; one that was evicted starts from the beginning; admission
// checks are ready when they are asked for; no machine fails.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/core/cycle/cycle.h"
#include "schedd/core/queue/queue_order.h"
#include "schedd/model/admission_settings.h"
#include "schedd/model/config.h"
#include "schedd/model/job.h"

namespace muster::simulate {

/// One job of a scenario.
struct SimJob {
  /// As accepted, with an id that no other has. One that holds quota (state and admission say so)
  /// goes on running where it is. One that is on hold, gated or deactivated never starts.
  JobPtr job;
  WallTime arrival;         // it enters its queue then, or at the start if that is later
  std::int64_t run_us = 0;  // from each start; of a running one: what is left from the start
};

struct Scenario {
  ConfigPtr config;
  AdmissionSettingsPtr settings = std::make_shared<const AdmissionSettings>();
  std::vector<SimJob> jobs;
};

enum class DecisionKind : std::uint8_t {
  kAdmitted,     // it starts
  kReserved,     // quota reserved, its second pass is still to come
  kEvicted,      // it has to stop: preempted (`by` is set) or for another reason
  kRequeued,     // its pods are gone, it waits again
  kFinished,     // its run time is over
  kTimedOut,     // its time limit is over: it has failed
  kDeactivated,  // its maximum execution time is over: nothing starts it again
};
/// "Admitted", "Preempted", ...
std::string_view DecisionName(DecisionKind kind);

struct Decision {
  WallTime at;
  DecisionKind kind = DecisionKind::kAdmitted;
  JobPtr job;           // its record after the decision
  JobPtr by;            // whom it was evicted for; null: nobody
  AdmissionPtr held;    // what it got, or what it gives back
  std::string message;  // of an eviction: the sentence that its owner reads
};
/// Called in the order of time; the reference is good during the call.
using DecisionSink = std::function<void(const Decision&)>;

/// Told before and after every call of Decide and of PendingQueues, for those who measure them.
class DecisionTimer {
 public:
  virtual ~DecisionTimer() = default;
  virtual void Begin() = 0;
  virtual void End() = 0;
};

struct RunOptions {
  WallTime start;                 // of the virtual clock; must be set
  std::optional<WallTime> until;  // stops then, whatever still runs
  std::int64_t stop_us = 0;       // what the pods of an evicted job take to be gone
  std::uint64_t seed = 0;         // for ties between member clusters
  core::CycleBudget budget;
  std::size_t max_cycles = 0;        // calls of Decide; 0: no limit
  std::function<bool()> keep_going;  // asked between cycles; unset: always
  DecisionTimer* timer = nullptr;    // not owned
};

/// Why a run ended.
enum class RunEnd : std::uint8_t {
  kIdle,     // nothing is left that could happen
  kUntil,    // the time was over
  kCycles,   // max_cycles
  kStopped,  // keep_going said no
};

struct RunOutcome {
  RunEnd end = RunEnd::kIdle;
  WallTime last;  // of the last thing that happened
  std::size_t cycles = 0, rounds = 0, heads = 0;
  std::size_t admissions = 0, evictions = 0, preemptions = 0, finished = 0;
  /// Neither ended nor holding quota, in id order; their records say why they wait. Those that had
  /// not arrived yet are not among them.
  std::vector<JobPtr> waiting;
  std::vector<JobPtr> holding;  // still running (or on their way out), in id order
};

/// Plays the scenario to its end. `sink` may be empty. CHECKs that job ids differ and that the
/// scenario has a configuration.
RunOutcome Run(const Scenario& scenario, const RunOptions& options, const DecisionSink& sink);

}  // namespace muster::simulate
