// Summary: the figures of a run. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "schedd/simulate/simulator.h"

namespace muster::simulate {

/// Waits from arrival to the first start, in microseconds; percentiles by nearest rank.
struct WaitFigures {
  /// "" for jobs without one.
  std::string priority_class;
  std::size_t started = 0, never_started = 0;
  std::int64_t mean_us = 0, median_us = 0, p95_us = 0, max_us = 0;
};

/// How much quota of one (flavor, resource) the jobs of a ClusterQueue held, over the makespan.
struct UseFigures {
  std::string cluster_queue, flavor, resource;
  std::int64_t nominal = 0;
  /// On average.
  std::int64_t held = 0;
  /// Of the nominal quota; above 1000 if the queue borrowed; 0 if nominal is 0.
  std::int64_t permille = 0;
};

struct Summary {
  /// From the first arrival to the last event.
  std::int64_t makespan_us = 0;
  std::size_t jobs = 0, finished = 0, timed_out = 0, deactivated = 0, running = 0, waiting = 0;
  std::size_t not_arrived = 0;
  std::size_t starts = 0, evictions = 0, preemptions = 0;
  /// Run time that evictions threw away, summed over all jobs.
  std::int64_t lost_us = 0;
  RunEnd end = RunEnd::kIdle;
  /// Highest priority first, then by name.
  std::vector<WaitFigures> waits;
  /// By queue, flavor and resource.
  std::vector<UseFigures> uses;
};

/// Takes every decision of one run. Not thread-safe; the scenario must outlive it.
class SummaryBuilder {
 public:
  explicit SummaryBuilder(const Scenario& scenario, WallTime start);
  void Note(const Decision& decision);
  /// Called once, at the end.
  Summary Finish(const RunOutcome& outcome);

 private:
  struct JobHistory {
    // `since`: when it got `held`; `started`: when its present attempt started.
    WallTime arrival, first_start, since, started;
    AdmissionPtr held;
  };
  // Queue, flavor, resource.
  using Pair = std::tuple<std::string, std::string, std::string>;
  void Hold(JobId id, const AdmissionPtr& held, WallTime at);
  void Release(JobHistory* seen, WallTime at);
  std::vector<WaitFigures> Waits() const;
  std::vector<UseFigures> Uses() const;

  const Scenario& scenario_;
  WallTime first_arrival_;
  Summary summary_;
  // Looked up, never iterated.
  std::unordered_map<JobId, JobHistory> seen_;
  // Amount times microseconds that it was held.
  std::map<Pair, __int128> amount_us_;
};

}  // namespace muster::simulate
