#include "schedd/store/new_job.h"

namespace muster {

Status CheckNewJob(const NewJob& job) {
  if (job.record == nullptr || job.record->id.value <= 0 || !job.record->uid.set()) {
    return InvalidArgument("a new job needs its number and uid");
  }
  if (job.record->state != JobState::kPending && job.record->state != JobState::kHeld) {
    return InvalidArgument("a new job is pending or held");
  }
  return Done{};
}

}  // namespace muster
