// Simulation: a whole run of a scheduler on a virtual clock, through the same Decide and
// PendingQueues as the daemon, without store, members or threads. Pure: equal scenarios give equal
// runs; all times come from the scenario.
//
// The rest of the world is replaced by simple rules: an admitted job starts at once, all its pods
// are ready, and it ends after its own run time; an evicted job starts from the beginning;
// admission checks are ready as soon as they are asked for; no machine fails.
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
  /// As accepted, with an id of its own. A job that holds quota (state and admission say so) goes
  /// on running where it is. A job that is held, gated or deactivated never starts.
  JobPtr job;
  /// When it enters its queue; at the start if that is later.
  WallTime arrival;
  /// From each start; of a running job: what is left at the start of the run.
  std::int64_t run_us = 0;
};

struct Scenario {
  ConfigPtr config;
  AdmissionSettingsPtr settings = std::make_shared<const AdmissionSettings>();
  std::vector<SimJob> jobs;
};

enum class DecisionKind : std::uint8_t {
  kAdmitted,     // it starts
  kReserved,     // quota is reserved; the second pass is still to come
  kEvicted,      // it must stop: preempted (`by` is set) or for another reason
  kRequeued,     // its pods are gone; it waits again
  kFinished,     // its run time is over
  kTimedOut,     // its time limit is over: it has failed
  kDeactivated,  // its maximum execution time is over: nothing starts it again
};
/// "Admitted", "Preempted", ...
std::string_view DecisionName(DecisionKind kind);

struct Decision {
  WallTime at;
  DecisionKind kind = DecisionKind::kAdmitted;
  /// Its record after the decision.
  JobPtr job;
  /// The preemptor of an evicted job; null: none.
  JobPtr by;
  /// What it gets, or what it gives back.
  AdmissionPtr held;
  /// Of an eviction: the sentence that the job's owner reads.
  std::string message;
};
/// Called in the order of time; the reference is valid during the call.
using DecisionSink = std::function<void(const Decision&)>;

/// Called before and after every call of Decide and of PendingQueues, for benchmarks.
class DecisionTimer {
 public:
  virtual ~DecisionTimer() = default;
  virtual void Begin() = 0;
  virtual void End() = 0;
};

struct RunOptions {
  /// Of the virtual clock; must be set.
  WallTime start;
  /// The run stops then, whatever still runs.
  std::optional<WallTime> until;
  /// How long the pods of an evicted job take to end.
  std::int64_t stop_us = 0;
  /// For ties between member clusters.
  std::uint64_t seed = 0;
  core::CycleBudget budget;
  /// Calls of Decide; 0: no limit.
  std::size_t max_cycles = 0;
  /// Asked between cycles; unset: always goes on.
  std::function<bool()> keep_going;
  /// Not owned.
  DecisionTimer* timer = nullptr;
};

/// Why a run ended.
enum class RunEnd : std::uint8_t {
  kIdle,     // nothing is left to happen
  kUntil,    // RunOptions::until is reached
  kCycles,   // RunOptions::max_cycles is reached
  kStopped,  // RunOptions::keep_going returned false
};

struct RunOutcome {
  RunEnd end = RunEnd::kIdle;
  /// The time of the last thing that happened.
  WallTime last;
  std::size_t cycles = 0, rounds = 0, heads = 0;
  std::size_t admissions = 0, evictions = 0, preemptions = 0, finished = 0;
  /// Jobs that have arrived and neither ended nor hold quota, in id order; their records say why
  /// they wait.
  std::vector<JobPtr> waiting;
  /// Jobs that still run, or are on their way out, in id order.
  std::vector<JobPtr> holding;
};

/// Plays the scenario to its end. `sink` may be empty. CHECKs that job ids differ and that the
/// scenario has a configuration.
RunOutcome Run(const Scenario& scenario, const RunOptions& options, const DecisionSink& sink);

}  // namespace muster::simulate
