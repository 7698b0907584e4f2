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

  void OnAdmitted(const JobRecord& job);
  void OnFinished(const JobRecord& job);
  void OnReserved(const JobRecord& job, WallTime now);
  /// A job that was just marked; `first`: it never was before.
  void OnEvicted(const JobRecord& job, bool first);
  void OnPreempted(const std::string& preempting_queue, Reason reason);
  void OnSliceReplaced(const std::string& cluster_queue);
  void OnRecomputations(const std::vector<core::Recomputation>& list);
  void OnCycle(double seconds, bool admitted);
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
  std::map<std::pair<std::string, std::string>, QueueHandles>
      queues_;  // (ClusterQueue, priority class)
};

}  // namespace muster
