// The engine's metrics: handles made once, and gauges read from the view at scrape time. Names:
// Kueue's where it has a metric of the same meaning, else muster_ (rule A62).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "schedd/core/plan/plan.h"
#include "schedd/telemetry/metrics.h"
#include "schedd/world/world_view.h"

namespace muster {

class EngineMetrics {
 public:
  /// `view` must stay callable as long as `metrics` lives.
  EngineMetrics(Metrics& metrics, std::function<WorldViewPtr()> view);

  /// An attempt of the job begins; observes the time from submission to admission.
  void OnAdmitted(const JobRecord& job);
  /// The job has ended for good, in whatever way.
  void OnFinished(const JobRecord& job);
  /// A job got quota at `now`; it may still wait for admission checks.
  void OnReserved(const JobRecord& job, WallTime now);
  /// `job` was just marked as evicted. `first`: it was never evicted before.
  void OnEvicted(const JobRecord& job, bool first);
  /// A workload of `preempting_queue` takes the quota of another workload, for this reason.
  void OnPreempted(const std::string& preempting_queue, Reason reason);
  /// A larger slice of an elastic job took the place of the one before (KEP-77).
  void OnSliceReplaced(const std::string& cluster_queue);
  /// Victims that a cycle searched for again, because another entry had taken them (rule A23, step
  /// b).
  void OnRecomputations(const std::vector<core::Recomputation>& list);
  /// One cycle took `seconds`. `admitted`: it admitted a workload.
  void OnCycle(double seconds, bool admitted);
  /// A request was refused because of load. `where`: "inbox", "submissions" or "queue".
  void OnShed(const char* where);

  Gauge& inbox_depth;
  Histogram& commit_seconds;
  Histogram& publish_seconds;
  Counter& corrections;
  Counter& stale_epochs;

 private:
  struct QueueHandles {
    Counter& admitted;
    Counter& finished;
    Counter& reserved;
    Histogram& reserved_wait;
    Histogram& admission_wait;
  };
  QueueHandles& Of(const JobRecord& job);

  Metrics& metrics_;
  Histogram& cycle_seconds_;
  // By ClusterQueue and priority class.
  std::map<std::pair<std::string, std::string>, QueueHandles> queues_;
};

}  // namespace muster
