// The metrics of the engine (rule A62). They come from two sources.
//
// Counters and histograms are updated on the engine thread when the thing happens (OnAdmitted,
// OnCycle and so on). Their handles are looked up once for each (ClusterQueue, priority class) and
// kept, because a lookup by labels is too slow for every job.
//
// Gauges that describe the world (jobs by state, quota, pending workloads) are not kept at all: a
// collector computes them from the published view when Prometheus scrapes, on the thread of the
// scrape. So they always agree with what the API shows, and cost nothing between two scrapes.
#include "schedd/engine/context/engine_metrics.h"

#include <limits>

#include "schedd/base/quantity.h"
#include "schedd/model/admission_lifecycle.h"

namespace muster {
namespace {

// Buckets of waiting times in seconds (rule A62): 1, 2.5, 5, 10 and doubling, up to 10,240 s.
const std::vector<double>& WaitBuckets() {
  static const std::vector<double> buckets = [] {
    std::vector<double> made{1, 2.5};
    for (double at = 5; made.size() < 14; at *= 2) made.push_back(at);
    return made;
  }();
  return buckets;
}

// Buckets in seconds for the work of the engine and of the store, which takes microseconds to a
// second or two.
const std::vector<double>& WorkBuckets() {
  static const std::vector<double> buckets{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                           0.025,  0.05,    0.1,    0.25,  0.5,    1,     2.5};
  return buckets;
}

// Base units, as Prometheus wants them: cores for cpu, whole units for everything else. An amount
// without bound is +Inf.
double Units(const std::string& resource, std::int64_t amount) {
  if (amount == kUnlimited) return std::numeric_limits<double>::infinity();
  return static_cast<double>(amount) / (IsMilliResource(resource) ? 1000.0 : 1.0);
}

// A limit that is not set limits nothing: +Inf.
double LimitUnits(const std::string& resource, const std::optional<std::int64_t>& limit) {
  return limit.has_value() ? Units(resource, *limit) : std::numeric_limits<double>::infinity();
}

// Four gauges for each pair of a queue. The tree does not know a queue or a pair that has just been
// declared or removed; nothing of it is used then.
void AppendQuotas(const WorldView& view, const ClusterQueue& queue, std::vector<Sample>* out) {
  const core::QuotaTree& tree = view.usage.tree();
  const core::NodeIndex node = tree.ClusterQueueIndex(queue.name);
  for (const ResourceGroup& group : queue.resource_groups) {
    for (const FlavorQuotas& flavor : group.flavors) {
      for (const auto& [resource, quota] : flavor.resources) {
        const Labels labels{{"cohort", queue.cohort},
                            {"cluster_queue", queue.name},
                            {"flavor", flavor.flavor},
                            {"resource", resource}};
        const core::FlavorResourceIndex pair = tree.PairIndex(flavor.flavor, resource);
        const std::int64_t used = node < 0 || pair < 0 ? 0 : view.usage.At(node, pair);
        out->push_back({"kueue_cluster_queue_resource_usage", "Admitted amount", labels,
                        Units(resource, used)});
        out->push_back({"kueue_cluster_queue_nominal_quota", "Own quota", labels,
                        Units(resource, quota.nominal)});
        out->push_back({"kueue_cluster_queue_borrowing_limit", "May be borrowed", labels,
                        LimitUnits(resource, quota.borrowing_limit)});
        out->push_back({"kueue_cluster_queue_lending_limit", "May be lent", labels,
                        LimitUnits(resource, quota.lending_limit)});
      }
    }
  }
}

// The gauges of one ClusterQueue. It counts as active if it is not stopped and all its flavors
// exist; the other reasons of queue_status.h (checks, topologies) do not count here.
void AppendQueue(const WorldView& view, const ClusterQueue& queue, std::vector<Sample>* out) {
  const auto found = view.queues.find(queue.name);
  const QueueStats stats = found == view.queues.end() ? QueueStats{} : found->second;
  const auto gauge = [&](const char* name, const char* help, Labels more, std::size_t value) {
    more["cluster_queue"] = queue.name;
    out->push_back({name, help, std::move(more), static_cast<double>(value)});
  };
  gauge("kueue_pending_workloads", "Pending workloads", {{"status", "active"}}, stats.active);
  gauge("kueue_pending_workloads", "Pending workloads", {{"status", "inadmissible"}},
        stats.inadmissible);
  gauge("kueue_reserving_active_workloads", "Workloads that hold quota", {}, stats.reserving);
  gauge("kueue_admitted_active_workloads", "Admitted workloads that have not ended", {},
        stats.admitted);
  bool flavors_known = true;
  for (const ResourceGroup& group : queue.resource_groups) {
    for (const FlavorQuotas& flavor : group.flavors) {
      flavors_known = flavors_known && view.config->flavors.contains(flavor.flavor);
    }
  }
  const bool active = queue.stop_policy == StopPolicy::kNone && flavors_known;
  gauge("kueue_cluster_queue_status", "1 for the status it has", {{"status", "active"}},
        active ? 1 : 0);
  gauge("kueue_cluster_queue_status", "1 for the status it has", {{"status", "pending"}},
        active ? 0 : 1);
  AppendQuotas(view, queue, out);
}

// Objects ahead of the database (rule D14). Each declared member has a sample, also if it is 0, so
// that an alert on this gauge can end.
void AppendQuarantined(const WorldView& view, std::vector<Sample>* out) {
  std::map<std::string, std::size_t> ahead;
  for (const auto& [name, member] : view.config->member_clusters) ahead[name] = 0;
  for (const auto& [key, object] : *view.set_aside) {
    if (object.reason == SetAsideReason::kAhead && !object.released) ++ahead[object.cluster];
  }
  for (const auto& [cluster, count] : ahead) {
    out->push_back({"muster_quarantined_objects",
                    "Objects on a member that are ahead of the database",
                    {{"cluster", cluster}},
                    static_cast<double>(count)});
  }
}

// Runs on the thread of the scrape: it reads only the immutable view.
std::vector<Sample> Collect(const WorldView& view) {
  std::vector<Sample> samples;
  if (view.config == nullptr) return samples;
  for (const auto& [name, queue] : view.config->cluster_queues) AppendQueue(view, queue, &samples);
  std::map<JobState, std::size_t> by_state;
  view.jobs.ForEach(JobId{}, [&](const JobPtr& job) {
    ++by_state[job->state];
    return true;
  });
  for (const JobState state :
       {JobState::kHeld, JobState::kPending, JobState::kAdmitted, JobState::kRunning,
        JobState::kSucceeded, JobState::kFailed, JobState::kCancelled}) {
    samples.push_back({"muster_jobs",
                       "Jobs in memory by state",
                       {{"state", std::string(JobStateName(state))}},
                       static_cast<double>(by_state[state])});
  }
  AppendQuarantined(view, &samples);
  return samples;
}

// A wall clock that was set back gives 0, not a negative duration.
double SecondsBetween(WallTime from, WallTime to) {
  return to < from ? 0
                   : static_cast<double>(to.us - from.us) / static_cast<double>(kMicrosPerSecond);
}

}  // namespace

// The collector outlives this object inside `metrics`, so it holds the function and not `this`.
EngineMetrics::EngineMetrics(Metrics& metrics, std::function<WorldViewPtr()> view)
    : inbox_depth(metrics.GetGauge("muster_inbox_depth", "Commands waiting for the engine")),
      commit_seconds(metrics.GetHistogram("muster_store_commit_seconds",
                                          "From sending a commit to its answer", WorkBuckets())),
      publish_seconds(metrics.GetHistogram("muster_snapshot_publish_seconds",
                                           "Making and publishing a view", WorkBuckets())),
      corrections(metrics.GetCounter("muster_reconcile_corrections_total",
                                     "Stored amounts and attempts that recovery had to correct")),
      stale_epochs(metrics.GetCounter("muster_stale_epoch_refusals_total",
                                      "Writes refused because another daemon leads")),
      metrics_(metrics),
      cycle_seconds_(metrics.GetHistogram("muster_cycle_seconds", "One Decide with its check",
                                          WorkBuckets())) {
  metrics.AddCollector([view = std::move(view)] { return Collect(*view()); });
}

// The handles for the job's ClusterQueue and priority class, made at first use. std::map keeps
// references valid.
EngineMetrics::QueueHandles& EngineMetrics::Of(const JobRecord& job) {
  const auto key = std::make_pair(job.cluster_queue, job.priority_class);
  const auto found = queues_.find(key);
  if (found != queues_.end()) return found->second;
  const Labels labels{{"cluster_queue", job.cluster_queue}, {"priority_class", job.priority_class}};
  QueueHandles made{
      metrics_.GetCounter("kueue_admitted_workloads_total", "Workloads admitted", labels),
      metrics_.GetCounter("kueue_finished_workloads_total", "Workloads finished", labels),
      metrics_.GetCounter("kueue_quota_reserved_workloads_total", "Workloads that got quota",
                          labels),
      metrics_.GetHistogram("kueue_quota_reserved_wait_time_seconds",
                            "From submission to quota reservation", WaitBuckets(), labels),
      metrics_.GetHistogram("kueue_admission_wait_time_seconds", "From submission to admission",
                            WaitBuckets(), labels)};
  return queues_.emplace(key, made).first->second;
}

void EngineMetrics::OnAdmitted(const JobRecord& job) {
  QueueHandles& handles = Of(job);
  const double waited = SecondsBetween(job.submit_time, job.admit_time);
  handles.admitted.Add();
  handles.admission_wait.Observe(waited);
}

void EngineMetrics::OnFinished(const JobRecord& job) { Of(job).finished.Add(); }

void EngineMetrics::OnReserved(const JobRecord& job, WallTime now) {
  QueueHandles& handles = Of(job);
  handles.reserved.Add();
  handles.reserved_wait.Observe(SecondsBetween(job.submit_time, now));
}

// Rare: looked up by labels each time.
void EngineMetrics::OnSliceReplaced(const std::string& cluster_queue) {
  metrics_
      .GetCounter("kueue_replaced_workload_slices_total",
                  "Workload slices of elastic jobs that larger ones replaced",
                  {{"cluster_queue", cluster_queue}})
      .Add();
}

// `underlying_cause` is Kueue's label: the cause of the last eviction that the record counts under
// the reason of its condition Evicted; "" if there is none.
void EngineMetrics::OnEvicted(const JobRecord& job, bool first) {
  const Condition* evicted = FindCondition(job, "Evicted");
  std::string cause;
  if (!StateOf(job).evictions.empty()) {
    for (const EvictionCount& one : StateOf(job).evictions) {
      if (one.reason == evicted->reason) cause = one.cause;
    }
  }
  const Labels labels{{"cluster_queue", job.cluster_queue},
                      {"reason", evicted->reason},
                      {"underlying_cause", cause},
                      {"priority_class", job.priority_class}};
  metrics_.GetCounter("kueue_evicted_workloads_total", "Workloads evicted", labels).Add();
  if (!first) return;
  metrics_
      .GetCounter("kueue_evicted_workloads_once_total", "Workloads evicted for the first time",
                  labels)
      .Add();
}

void EngineMetrics::OnPreempted(const std::string& preempting_queue, Reason reason) {
  metrics_
      .GetCounter("kueue_preempted_workloads_total", "Workloads preempted",
                  {{"preempting_cluster_queue", preempting_queue},
                   {"reason", std::string(ReasonName(reason))}})
      .Add();
}

void EngineMetrics::OnRecomputations(const std::vector<core::Recomputation>& list) {
  // In the order of core::Recomputation::Result; these are Kueue's values of the label.
  static constexpr const char* kResults[] = {"new_targets", "deferred_fit", "skipped"};
  for (const core::Recomputation& one : list) {
    metrics_
        .GetCounter("kueue_preemption_target_recomputations_total",
                    "Victims searched anew because another workload had taken them",
                    {{"cluster_queue", one.cluster_queue},
                     {"result", kResults[static_cast<std::size_t>(one.result)]}})
        .Add();
  }
}

// A cycle counts as a success if it admitted at least one workload, as Kueue counts attempts.
void EngineMetrics::OnCycle(double seconds, bool admitted) {
  const Labels labels{{"result", admitted ? "success" : "inadmissible"}};
  cycle_seconds_.Observe(seconds);
  metrics_.GetCounter("kueue_admission_attempts_total", "Cycles by result", labels).Add();
  metrics_
      .GetHistogram("kueue_admission_attempt_duration_seconds", "Duration of a cycle",
                    WorkBuckets(), labels)
      .Observe(seconds);
}

void EngineMetrics::OnShed(const char* where) {
  metrics_.GetCounter("muster_shed_total", "Requests refused because of load", {{"where", where}})
      .Add();
}

}  // namespace muster
