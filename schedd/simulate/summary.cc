// The figures of a run, from its decisions in the order of time. For each job it keeps since when
// it holds which admission; when that ends, amount times duration is added to the sum of its
// (queue, flavor, resource), in 128 bits. Divided by the makespan, that sum is the average that the
// queue held.
#include "schedd/simulate/summary.h"

#include <algorithm>

#include "schedd/model/admission_lifecycle.h"

namespace muster::simulate {
namespace {

// The percentile by nearest rank: the smallest of the sorted values that at least `percent` of them
// do not exceed.
std::int64_t NearestRank(const std::vector<std::int64_t>& sorted, std::size_t percent) {
  if (sorted.empty()) return 0;
  const std::size_t rank = (sorted.size() * percent + 99) / 100;
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

}  // namespace

// Jobs that hold quota at the start count as arrived and started at the start.
SummaryBuilder::SummaryBuilder(const Scenario& scenario, WallTime start) : scenario_(scenario) {
  summary_.jobs = scenario.jobs.size();
  seen_.reserve(scenario.jobs.size());
  for (const SimJob& sim : scenario.jobs) {
    JobHistory& seen = seen_[sim.job->id];
    const bool holds = HoldsQuota(sim.job->state) && sim.job->admission != nullptr;
    seen.arrival = holds ? start : std::max(sim.arrival, start);
    if (!first_arrival_.set() || seen.arrival < first_arrival_) first_arrival_ = seen.arrival;
    if (!holds) continue;
    Hold(sim.job->id, sim.job->admission, start);
    if (IsDispatched(sim.job->state)) seen.first_start = seen.started = start;
  }
}

// A second pass may replace the admission; the old one is released first.
void SummaryBuilder::Hold(JobId id, const AdmissionPtr& held, WallTime at) {
  JobHistory& seen = seen_.at(id);
  if (seen.held == held) return;
  Release(&seen, at);
  seen.held = held;
  seen.since = at;
}

// Adds what the job held since `since` to the sums.
void SummaryBuilder::Release(JobHistory* seen, WallTime at) {
  if (seen->held == nullptr) return;
  const std::int64_t us = at.us - seen->since.us;
  for (const PodSetAssignment& pod_set : seen->held->pod_sets) {
    for (const auto& [resource, flavor] : pod_set.flavors) {
      amount_us_[{seen->held->cluster_queue, flavor, resource}] +=
          static_cast<__int128>(AmountOf(pod_set.usage, resource)) * us;
    }
  }
  seen->held.reset();
}

// The run time that an eviction throws away is counted from the start of the attempt.
void SummaryBuilder::Note(const Decision& decision) {
  JobHistory& seen = seen_.at(decision.job->id);
  switch (decision.kind) {
    case DecisionKind::kAdmitted:
      ++summary_.starts;
      seen.started = decision.at;
      if (!seen.first_start.set()) seen.first_start = decision.at;
      [[fallthrough]];
    case DecisionKind::kReserved:
      Hold(decision.job->id, decision.held, decision.at);
      return;
    case DecisionKind::kEvicted:
    case DecisionKind::kDeactivated:
      ++summary_.evictions;
      if (IsTrue(*decision.job, "Preempted")) ++summary_.preemptions;
      if (seen.started.set()) summary_.lost_us += decision.at.us - seen.started.us;
      seen.started = {};
      if (decision.kind == DecisionKind::kEvicted) return;
      ++summary_.deactivated;
      break;
    case DecisionKind::kRequeued:
      break;
    case DecisionKind::kFinished:
      ++summary_.finished;
      break;
    case DecisionKind::kTimedOut:
      ++summary_.timed_out;
      break;
  }
  Release(&seen, decision.at);
}

// Jobs that never started count, but add nothing to means and percentiles.
std::vector<WaitFigures> SummaryBuilder::Waits() const {
  // All jobs of one priority class.
  struct Class {
    std::int32_t priority = 0;
    WaitFigures figures;
    std::vector<std::int64_t> waits;
  };
  std::map<std::string, Class> classes;
  for (const SimJob& sim : scenario_.jobs) {
    Class& of = classes[sim.job->priority_class];
    of.priority = sim.job->priority;
    of.figures.priority_class = sim.job->priority_class;
    const JobHistory& seen = seen_.at(sim.job->id);
    if (seen.first_start.set()) {
      of.waits.push_back(seen.first_start.us - seen.arrival.us);
    } else {
      ++of.figures.never_started;
    }
  }
  std::vector<Class> sorted;
  for (auto& [name, of] : classes) sorted.push_back(std::move(of));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Class& a, const Class& b) { return a.priority > b.priority; });
  std::vector<WaitFigures> out;
  for (Class& of : sorted) {
    std::sort(of.waits.begin(), of.waits.end());
    of.figures.started = of.waits.size();
    __int128 sum = 0;
    for (const std::int64_t wait : of.waits) sum += wait;
    if (!of.waits.empty())
      of.figures.mean_us = static_cast<std::int64_t>(sum / std::ssize(of.waits));
    of.figures.median_us = NearestRank(of.waits, 50);
    of.figures.p95_us = NearestRank(of.waits, 95);
    of.figures.max_us = of.waits.empty() ? 0 : of.waits.back();
    out.push_back(std::move(of.figures));
  }
  return out;
}

// One entry for each quota that a ClusterQueue declares, also if nothing was held of it.
std::vector<UseFigures> SummaryBuilder::Uses() const {
  std::vector<UseFigures> uses;
  for (const auto& [name, queue] : scenario_.config->cluster_queues) {
    std::map<Pair, std::int64_t> nominal;
    for (const ResourceGroup& group : queue.resource_groups) {
      for (const FlavorQuotas& flavor : group.flavors) {
        for (const auto& [resource, quota] : flavor.resources)
          nominal[{name, flavor.flavor, resource}] = quota.nominal;
      }
    }
    // `held` is an average over the makespan, so it is amount times time divided by time.
    for (const auto& [pair, amount] : nominal) {
      UseFigures use{name, std::get<1>(pair), std::get<2>(pair), amount, 0, 0};
      const auto held = amount_us_.find(pair);
      if (held != amount_us_.end() && summary_.makespan_us > 0) {
        use.held = static_cast<std::int64_t>(held->second / summary_.makespan_us);
        if (amount > 0) {
          use.permille =
              static_cast<std::int64_t>(held->second * 1000 / amount / summary_.makespan_us);
        }
      }
      uses.push_back(std::move(use));
    }
  }
  return uses;
}

// What is still held at the end is counted up to the last event. Deactivated jobs do not count as
// waiting.
Summary SummaryBuilder::Finish(const RunOutcome& outcome) {
  for (const JobPtr& job : outcome.holding) {
    JobHistory& seen = seen_.at(job->id);
    if (seen.held != nullptr) Release(&seen, outcome.last);
  }
  summary_.end = outcome.end;
  summary_.running = outcome.holding.size();
  summary_.waiting = outcome.waiting.size();
  for (const JobPtr& job : outcome.waiting) {
    if (!StateOf(*job).active) --summary_.waiting;
  }
  for (const SimJob& sim : scenario_.jobs) {
    if (seen_.at(sim.job->id).arrival > outcome.last) ++summary_.not_arrived;
  }
  summary_.makespan_us = std::max<std::int64_t>(
      0, outcome.last.us - (first_arrival_.set() ? first_arrival_ : outcome.last).us);
  summary_.waits = Waits();
  summary_.uses = Uses();
  return std::move(summary_);
}

}  // namespace muster::simulate
