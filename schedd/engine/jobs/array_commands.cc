// Verbs on tasks of an array: the methods of JobCommands for `36_4` and `36_[1-5]`.
//
// Tasks with records of their own are jobs like any other. Of tasks that wait in a record, those
// that are named get a record of their own first, one for all of them, so a verb costs the same for
// one task and for a million; if it names all tasks of a record, the record itself is changed. A
// verb that changes nothing of a record (a hold of a held one), or is refused, does not divide it.
#include "schedd/engine/jobs/job_commands.h"
#include "schedd/engine/jobs/refusals.h"
#include "schedd/model/task_ranges.h"

namespace muster {
namespace {

std::string TasksText(const JobCommand& command) {
  return std::to_string(command.id.value) + "_[" + IndexText(command.tasks) + "]";
}

// True if the verb would change tasks that wait in this record; ChangeJob leaves the record as it
// is otherwise, or refuses.
bool ChangesWaiting(const JobCommand& command, const JobRecord& record) {
  const bool held = record.state == JobState::kHeld;
  const bool by_admin = BatchStateOf(record).held_by_admin;
  switch (command.verb) {
    case JobVerb::kCancel:
    case JobVerb::kDelete:
      return true;
    case JobVerb::kHold:
      return !held || (command.by_operator && !by_admin);
    case JobVerb::kRelease:
      return held && (command.by_operator || !by_admin);
    default:
      return false;
  }
}

}  // namespace

// The answer is the first record that the verb changed or left as it wants it. Refusals of single
// tasks count only if no task took the verb.
Result<JobPtr> JobCommands::ChangeTasks(const JobCommand& command) {
  JobPtr first;
  std::optional<Error> refused;
  const auto take = [&](Result<JobPtr> outcome) {
    if (outcome.ok() && first == nullptr) first = *outcome;
    if (!outcome.ok() && !refused) refused = outcome.error();
  };
  for (const JobPtr& record : arrays_.Waiting(command.id)) {
    TaskRanges chosen = Common(BatchStateOf(*record).waiting_tasks, command.tasks);
    if (chosen.empty()) continue;
    const bool divide = ChangesWaiting(command, *record);
    take(ChangeJob(command, divide ? array_tasks_.Divide(record, std::move(chosen)) : record));
  }
  for (const JobPtr& task : arrays_.Tasks(command.id, command.tasks))
    take(ChangeJob(command, task));
  if (first != nullptr) return first;
  if (refused) return *refused;
  return NoTaskLeft(command);
}

// All tasks that are named ended before, or there never were any.
Error JobCommands::NoTaskLeft(const JobCommand& command) {
  JobQuery query;
  query.array = command.id;
  query.include_deleted = true;
  query.limit = 1;
  const bool one = CountOf(command.tasks) == 1;
  if (one) query.array_task = command.tasks.front().first;
  auto ended = context_.store.ReadJobs(query);
  if (!ended.ok()) return ended.error();
  if (one && ended->empty()) {
    query.array_task = -1;
    query.limit = 1000;
    ended = context_.store.ReadJobs(query);
    if (!ended.ok()) return ended.error();
    std::erase_if(*ended, [&](const JobPtr& record) {
      return Common(BatchStateOf(*record).waiting_tasks, command.tasks).empty();
    });
  }
  if (ended->empty()) return NotFound("job " + TasksText(command) + " does not exist");
  return {Code::kFailedPrecondition, "job " + TasksText(command) + " has already ended"};
}

}  // namespace muster
