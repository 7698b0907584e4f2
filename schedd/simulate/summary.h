// Summary: what a run came to, in figures. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "schedd/simulate/simulator.h"

namespace muster::simulate {

/// From arrival to the first start, microseconds; percentiles are the nearest rank.
struct WaitFigures {
  std::string priority_class;  // "" for jobs without one
  std::size_t started = 0, never_started = 0;
  std::int64_t mean_us = 0, median_us = 0, p95_us = 0, max_us = 0;
};

/// Quota of one (flavor, resource) that the jobs of a ClusterQueue held, over the makespan.
struct UseFigures {
  std::string cluster_queue, flavor, resource;
  std::int64_t nominal = 0;
  std::int64_t held = 0;      // on average
  std::int64_t permille = 0;  // of nominal; above 1000: it borrowed; 0 if nominal is 0
};

struct Summary {
  std::int64_t makespan_us = 0;  // from the first arrival to the last event
  std::size_t jobs = 0, finished = 0, timed_out = 0, deactivated = 0, running = 0, waiting = 0;
  std::size_t not_arrived = 0;
  std::size_t starts = 0, evictions = 0, preemptions = 0;
  std::int64_t lost_us = 0;  // run time that evictions threw away, summed over jobs
  RunEnd end = RunEnd::kIdle;
  std::vector<WaitFigures> waits;  // highest priority first, then by name
  std::vector<UseFigures> uses;    // by queue, flavor, resource
};

/// Told every decision of one run. Not thread-safe; the scenario must outlive it.
class SummaryBuilder {
 public:
  explicit SummaryBuilder(const Scenario& scenario, WallTime start);
  void Note(const Decision& decision);
  /// Once, at the end.
  Summary Finish(const RunOutcome& outcome);

 private:
  struct Seen {
    WallTime arrival, first_start, since, started;  // since: it holds quota
    AdmissionPtr held;
  };
  using Pair = std::tuple<std::string, std::string, std::string>;  // queue, flavor, resource
  void Hold(JobId id, const AdmissionPtr& held, WallTime at);
  void Release(Seen* seen, WallTime at);
  std::vector<WaitFigures> Waits() const;
  std::vector<UseFigures> Uses() const;

  const Scenario& scenario_;
  WallTime first_arrival_;
  Summary summary_;
  std::unordered_map<JobId, Seen> seen_;  // looked up, never iterated
  std::map<Pair, __int128> amount_us_;
};

}  // namespace muster::simulate
