#include "schedd/lifecycle/array_changes.h"

#include <functional>
#include <utility>

namespace muster::changes {
namespace {

void ChangeBatchState(JobRecord* job, const std::function<void(BatchState*)>& change) {
  auto state = std::make_shared<BatchState>(BatchStateOf(*job));
  change(state.get());
  job->batch_state = *state == BatchState{} ? nullptr : BatchStatePtr(std::move(state));
}

void SetTask(JobRecord* job, std::int32_t index) {
  auto details = std::make_shared<BatchDetails>(*job->batch);
  details->array_task_id = index;
  job->batch = std::move(details);
  ChangeBatchState(job, [](BatchState* state) { state->waiting_tasks.clear(); });
}

Draft Copy(const JobRecord& array, const NewRecord& made) {
  auto draft = std::make_shared<JobRecord>(array);
  draft->id = made.id;
  draft->uid = made.uid;
  draft->name = "job-" + std::to_string(made.id.value);
  draft->accept_seq = draft->resource_version = made.seq;
  return draft;
}

}  // namespace

Draft TaskOf(const JobRecord& array, const NewRecord& made, std::int32_t index) {
  Draft draft = Copy(array, made);
  SetTask(draft.get(), index);
  return draft;
}

Draft LastTask(const JobRecord& array, std::int32_t index) {
  auto draft = std::make_shared<JobRecord>(array);
  SetTask(draft.get(), index);
  return draft;
}

Draft WithWaiting(const JobRecord& array, TaskRanges tasks) {
  auto draft = std::make_shared<JobRecord>(array);
  ChangeBatchState(draft.get(),
                   [&](BatchState* state) { state->waiting_tasks = std::move(tasks); });
  return draft;
}

Draft SplitOff(const JobRecord& array, const NewRecord& made, TaskRanges tasks) {
  Draft draft = Copy(array, made);
  ChangeBatchState(draft.get(),
                   [&](BatchState* state) { state->waiting_tasks = std::move(tasks); });
  return draft;
}

Draft AtTaskLimit(const JobRecord& array, std::int32_t throttle) {
  auto draft = std::make_shared<JobRecord>(array);
  draft->reason = Reason::kArrayTaskLimit;
  draft->message =
      (throttle == 1 ? "Only 1 task of the array runs"
                     : "At most " + std::to_string(throttle) + " tasks of the array run") +
      std::string(" at once (%") + std::to_string(throttle) + ")";
  return draft->message == array.message ? nullptr : draft;
}

Draft BelowTaskLimit(const JobRecord& array) {
  if (array.reason != Reason::kArrayTaskLimit) return nullptr;
  auto draft = std::make_shared<JobRecord>(array);
  SayWhyItWaits(draft.get());
  return draft;
}

}  // namespace muster::changes
