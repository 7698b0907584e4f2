// The tasks of an array as users and the server write them: "0-3,7", "0-15:4" (rule B15).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schedd/model/batch.h"

namespace muster::slurm {

/// "0-15:4,20" as ranges, in the order given. nullopt if malformed or more than 10,000 ranges.
std::optional<TaskRanges> ParseTasks(std::string_view text);

/// The inverse of ParseTasks.
std::string TasksText(const TaskRanges& tasks);

bool HasTask(const TaskRanges& tasks, std::int32_t task);
/// The tasks that both lists have.
TaskRanges CommonTasks(const TaskRanges& one, const TaskRanges& other);
std::int64_t CountTasks(const TaskRanges& tasks);

/// The list as squeue shows it: "[3-20%2]", "3" for a single task; cut to 64 characters with "..."
/// behind them, or to SLURM_BITSTR_LEN characters (0: not at all).
std::string ShownTasks(std::string_view tasks, std::int64_t throttle);

}  // namespace muster::slurm
