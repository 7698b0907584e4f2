// Use case: why a job waits. Re-derived from the view by the functions that decide.
#include "api/service/scheduler_service.h"
#include "schedd/core/queue_order.h"

namespace muster::api {
namespace {

/// 1-based place of a pending job in its ClusterQueue's order; 0 if it does not wait.
std::size_t PositionOf(const WorldView& view, const JobRecord& job) {
  if (job.state != JobState::kPending) return 0;
  std::size_t ahead = 0;
  view.jobs.ForEach(JobId{}, [&](const JobPtr& other) {
    if (other->state == JobState::kPending && other->id != job.id &&
        other->cluster_queue == job.cluster_queue && core::Before(*other, job, *view.settings)) {
      ++ahead;
    }
    return true;
  });
  return ahead + 1;
}

}  // namespace

Result<core::Explanation> SchedulerService::Explain(const auth::Principal& who,
                                                    const std::string& id) const {
  const Result<WorldViewPtr> view = ReadyView();
  if (!view.ok()) return view.error();
  const Result<JobPtr> job = GetJob(who, id);
  if (!job.ok()) return job.error();
  core::Snapshot snapshot;
  snapshot.config = (*view)->config;
  snapshot.settings = (*view)->settings;
  snapshot.usage = (*view)->usage;
  snapshot.clusters = (*view)->clusters;
  return core::Explain(snapshot, **job, PositionOf(**view, **job));
}

}  // namespace muster::api
