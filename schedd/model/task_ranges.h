// Sets of array indexes as ranges, so that an array of any size costs a few of them. Every
// TaskRanges here is in ascending order, and no two ranges of one overlap. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedd/model/batch.h"

namespace muster {

/// The highest index of an array: what Slurm's MaxArraySize can be set to at most.
inline constexpr std::int32_t kArrayIndexMax = 4'000'000;

/// How many indexes the ranges hold.
std::int64_t CountOf(const TaskRanges& ranges);
bool HasTask(const TaskRanges& ranges, std::int32_t index);
/// Removes the lowest index and returns it; there must be one.
std::int32_t TakeFirst(TaskRanges* ranges);
/// Every index, in order. Only for arrays that are known to be small.
std::vector<std::int32_t> TasksOf(const TaskRanges& ranges);
/// The ranges that hold these indexes, which are in ascending order without repetition.
TaskRanges RangesOf(const std::vector<std::int32_t>& indexes);
/// The indexes that both have.
TaskRanges Common(const TaskRanges& a, const TaskRanges& b);
/// The indexes of `a` that `b` does not have.
TaskRanges Without(const TaskRanges& a, const TaskRanges& b);
/// "0-3,7,10-20:5"; "" for none.
std::string IndexText(const TaskRanges& ranges);

}  // namespace muster
