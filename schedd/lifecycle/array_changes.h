// How the records of an array's tasks follow from the record of its waiting tasks (rule B15). Pure.
#pragma once

#include "schedd/lifecycle/job_changes.h"
#include "schedd/model/task_ranges.h"

namespace muster::changes {

/// What a new record of an array is called and counted by.
struct NewRecord {
  JobId id;
  Uid uid;
  std::int64_t seq = 0;  // of its JobAccepted event
};

/// The task of this index as a job of its own, which waits.
Draft TaskOf(const JobRecord& array, const NewRecord& made, std::int32_t index);
/// The record itself becomes the task of this index, the last one that waits.
Draft LastTask(const JobRecord& array, std::int32_t index);
/// The record stands for these waiting tasks.
Draft WithWaiting(const JobRecord& array, TaskRanges tasks);
/// A record of its own for some of the waiting tasks.
Draft SplitOff(const JobRecord& array, const NewRecord& made, TaskRanges tasks);
/// Why no task of the record may start: as many run as its %N allows.
Draft AtTaskLimit(const JobRecord& array, std::int32_t throttle);
/// The limit does not keep it any more.
Draft BelowTaskLimit(const JobRecord& array);

}  // namespace muster::changes
