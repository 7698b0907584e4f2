// How tasks of an array are named: "36_4", "36_[1-5,7]", "36_*" (rule B40). Pure.
#pragma once

#include <optional>
#include <string_view>

#include "schedd/base/ids.h"
#include "schedd/model/task_ranges.h"

namespace muster::api {

/// Tasks of one array.
struct TaskIds {
  JobId array;
  TaskRanges tasks;  // never empty
};

/// Nothing if the text is not of this form.
std::optional<TaskIds> ParseTaskIds(std::string_view text);

}  // namespace muster::api
