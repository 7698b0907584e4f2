#include "api/service/job_filter.h"

#include <algorithm>

#include "schedd/base/name_list.h"

namespace muster::api {
namespace {

// A waiting job of several partitions is in all of them (rule B29).
bool WaitsIn(const JobRecord& job, const std::string& queue) {
  if (job.batch == nullptr || HoldsQuota(job.state) || IsTerminal(job.state)) return false;
  return ListsName(job.batch->partitions, queue);
}

}  // namespace

bool WantsState(const JobFilter& filter, JobState state) {
  return filter.states.empty() ||
         std::find(filter.states.begin(), filter.states.end(), state) != filter.states.end();
}

bool WantsEnded(const JobFilter& filter) {
  return WantsState(filter, JobState::kSucceeded) || WantsState(filter, JobState::kFailed) ||
         WantsState(filter, JobState::kCancelled);
}

bool PassesFilter(const JobFilter& filter, const VisibilityPtr& seen, const JobRecord& job) {
  if (seen != nullptr && !seen->Shows(job)) return false;
  if (!filter.ns.empty() && job.ns != filter.ns) return false;
  if (!filter.queue.empty() && job.local_queue != filter.queue && !WaitsIn(job, filter.queue))
    return false;
  if (!filter.user.empty() && job.user != filter.user) return false;
  if (!filter.name.empty() && job.name != filter.name && job.display_name != filter.name)
    return false;
  if (filter.shape && job.shape != *filter.shape) return false;
  if (filter.array.value != 0 && (job.batch == nullptr || job.batch->array_job_id != filter.array))
    return false;
  if (!filter.ids.empty() && !std::binary_search(filter.ids.begin(), filter.ids.end(), job.id))
    return false;
  if (filter.ended_since.set() && IsTerminal(job.state) && job.end_time < filter.ended_since)
    return false;
  if (!filter.include_deleted && job.deletion_requested && IsTerminal(job.state)) return false;
  return WantsState(filter, job.state);
}

}  // namespace muster::api
