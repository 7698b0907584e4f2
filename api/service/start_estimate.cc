// The estimate is an upper bound: each job is assumed to take all of its declared time limit, and a
// job without a limit is assumed never to end. So the bound holds whatever those jobs do. If `job`
// does not start within the horizon under these assumptions, the answer is "unknown" and names the
// jobs without a limit that may be in its way.
//
// The run ends when `job` starts, after kHorizon of virtual time, or after a number of cycles that
// keeps the answer below a second.
#include "api/service/start_estimate.h"

#include <algorithm>
#include <set>

#include "schedd/base/limits.h"
#include "schedd/core/explain/explain_ends.h"
#include "schedd/core/preempt/eviction_pace.h"
#include "schedd/lifecycle/job_changes.h"
#include "schedd/model/admission_lifecycle.h"
#include "schedd/simulate/simulator.h"

namespace muster::api {
namespace {

constexpr std::int64_t kYear = std::int64_t{365} * 24 * 3600 * kMicrosPerSecond;
// The run time of a job without a limit: longer than the horizon.
constexpr std::int64_t kForEver = 100 * kYear;
constexpr std::int64_t kHorizon = 10 * kYear;

// A job that holds quota, with its remaining time. A job that is being evicted waits again and
// competes from now on.
simulate::SimJob Holding(const JobPtr& job, const AdmissionSettings& settings, WallTime now) {
  simulate::SimJob one;
  one.arrival = now;
  if (IsTrue(*job, "Evicted")) {
    one.job = changes::BackToPending(*job, now, settings, now);
    const auto limit = core::DeclaredLimit(*job);
    one.run_us = limit ? SecondsToMicros(*limit) : kForEver;
    return one;
  }
  one.job = job;
  const auto latest = core::LatestEnd(*job, now);
  one.run_us = latest ? std::max<std::int64_t>(0, SaturatingSub(latest->us, now.us)) : kForEver;
  return one;
}

// A job that waits, with the whole of its time limit. The run keeps back what backs off, or may not
// begin before a time.
simulate::SimJob Waiting(const JobPtr& job, WallTime now) {
  const auto limit = core::DeclaredLimit(*job);
  return {job, now, limit ? SecondsToMicros(*limit) : kForEver};
}

// The configuration with the members as they are now, the holders and the waiting jobs, all from
// now on.
simulate::Scenario ScenarioOf(const core::Snapshot& snapshot, const std::vector<JobPtr>& holders,
                              const std::vector<JobPtr>& waiting) {
  simulate::Scenario scenario;
  auto config = std::make_shared<ConfigView>(*snapshot.config);
  for (const core::ClusterView& cluster : snapshot.clusters) {
    MemberCluster& member = config->member_clusters[cluster.member.name] = cluster.member;
    // Free amounts per machine are facts of this moment; no end of a job would free them in a run.
    member.machines.reset();
  }
  scenario.config = std::move(config);
  scenario.settings = snapshot.settings;
  for (const JobPtr& job : holders) {
    scenario.jobs.push_back(Holding(job, *snapshot.settings, snapshot.now));
  }
  for (const JobPtr& job : waiting) scenario.jobs.push_back(Waiting(job, snapshot.now));
  return scenario;
}

// What happened in the run until the job started, if it did.
struct RunObservation {
  std::optional<WallTime> start;
  std::string cluster;
  JobPtr last_ended;  // the last job that ended before
  std::size_t ended = 0;
};

// Runs the scenario. `queues` is the number of ClusterQueues with waiting jobs: a cycle looks at
// one head of each, so limits::kExplainHeads divided by it bounds the cycles.
simulate::RunOutcome Play(const simulate::Scenario& scenario, WallTime now, std::size_t queues,
                          JobId id, RunObservation* seen) {
  simulate::RunOptions options;
  options.start = now;
  options.until = WallTime{now.us + kHorizon};
  options.max_cycles = std::max(limits::kExplainJobs, limits::kExplainHeads / queues);
  options.keep_going = [seen] { return !seen->start; };
  return simulate::Run(scenario, options, [&](const simulate::Decision& decision) {
    using Kind = simulate::DecisionKind;
    // The reservation of quota counts as the start: admission checks are assumed to be ready.
    const bool starts = decision.kind == Kind::kAdmitted || decision.kind == Kind::kReserved;
    if (starts && decision.job->id == id && !seen->start) {
      seen->start = decision.at;
      seen->cluster = decision.job->cluster;
    }
    const bool ends = decision.kind == Kind::kFinished || decision.kind == Kind::kTimedOut ||
                      decision.kind == Kind::kDeactivated;
    if (ends && !seen->start) {
      seen->last_ended = decision.job;
      ++seen->ended;
    }
  });
}

// The jobs without a time limit that may keep `job` from starting: those of its cohort tree, or if
// there are none there, those on the member clusters.
std::vector<JobPtr> Endless(const core::Snapshot& snapshot, const JobRecord& job,
                            const std::vector<JobPtr>& holding) {
  const core::QuotaTree& tree = snapshot.usage.tree();
  const auto root = [&](const std::string& queue) {
    const core::NodeIndex node = tree.ClusterQueueIndex(queue);
    return node < 0 ? node : tree.node(node).root;
  };
  std::vector<JobPtr> in_tree, all;
  for (const JobPtr& other : holding) {
    if (other->id == job.id || core::DeclaredLimit(*other)) continue;
    all.push_back(other);
    if (root(other->cluster_queue) == root(job.cluster_queue)) in_tree.push_back(other);
  }
  return in_tree.empty() ? all : in_tree;
}

// Writes why there is no bound.
void SayUnknown(const core::Snapshot& snapshot, const JobRecord& job,
                const simulate::RunOutcome& outcome, StartEstimate* estimate) {
  if (outcome.end == simulate::RunEnd::kCycles) {
    estimate->text = "unknown: too much would happen before it starts to play it all through";
    return;
  }
  std::vector<JobPtr> endless = Endless(snapshot, job, outcome.holding);
  const std::size_t all = endless.size();
  // The sentence counts all of them; only the first few are listed.
  if (endless.size() > limits::kExplainNames) endless.resize(limits::kExplainNames);
  estimate->without_limit = endless;
  if (!endless.empty()) {
    estimate->text = "unknown: " + core::MentionsOf(endless, all) +
                     (all == 1 ? " declares" : " declare") +
                     " no time limit and may hold what it needs for ever";
    return;
  }
  estimate->text = "unknown: it would not start even after all who declare a time limit have ended";
  for (const JobPtr& left : outcome.waiting) {
    if (left->id == job.id && !left->message.empty()) estimate->text += ": " + left->message;
  }
}

}  // namespace

StartEstimate EstimateStart(const core::Snapshot& snapshot, const std::vector<JobPtr>& holders,
                            const std::vector<JobPtr>& waiting, const JobPtr& job) {
  StartEstimate estimate;
  estimate.asked = true;
  if (holders.size() + waiting.size() > limits::kExplainJobs) {
    estimate.text = "unknown: more than " + std::to_string(limits::kExplainJobs) +
                    " jobs run or wait, too many to play through";
    return estimate;
  }
  // The number of ClusterQueues bounds the number of cycles that may be played.
  std::set<std::string> queues;
  for (const JobPtr& one : waiting) queues.insert(one->cluster_queue);
  const simulate::Scenario scenario = ScenarioOf(snapshot, holders, waiting);
  RunObservation seen;
  const simulate::RunOutcome outcome =
      Play(scenario, snapshot.now, std::max<std::size_t>(1, queues.size()), job->id, &seen);
  if (!seen.start) {
    SayUnknown(snapshot, *job, outcome, &estimate);
    return estimate;
  }
  estimate.latest = seen.start;
  estimate.cluster = seen.cluster;
  // At the time at which it may begin, no end of another job is what lets it start.
  if (seen.ended == 0 || seen.start == core::HeldBackUntil(*job)) {
    const bool at_once = *seen.start <= snapshot.now;
    estimate.text = (at_once ? "at once" : "at " + FormatRfc3339(*seen.start)) +
                    ": nothing has to end before it";
  } else {
    const std::int64_t seconds = (seen.start->us - snapshot.now.us) / kMicrosPerSecond;
    estimate.text = "no later than " + FormatRfc3339(*seen.start) + " (in " +
                    core::SpanText(seconds) + "), when " + core::MentionOf(*seen.last_ended) +
                    " has ended";
  }
  estimate.assumptions = {
      "every job that runs or starts before it takes all of the time that it declares; those that "
      "declare none never end",
      "nothing else is submitted, and quotas, member clusters and priorities stay as they are",
      "admission checks are ready, and pods start at once wherever their members have the amounts"};
  return estimate;
}

}  // namespace muster::api
