// The text of --dependency: read and written as Slurm does (rule B31).
//
// Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/model/batch.h"

namespace muster::shapes {

/// What --dependency asks for.
struct DependencyList {
  std::vector<Dependency> items;
  bool any = false;  // joined by "?": one of them is enough
};

/// "afterok:7:8_3,after:9+5,singleton". A bare id means afterany; "", "0" and "none" mean no
/// dependency. Items may be joined by "," (all) or "?" (any), not by both. Errors: "Job dependency
/// problem" for anything else, with more than limits of this file, or with an id that no job has.
Result<DependencyList> ParseDependencies(std::string_view text);

/// "afterok:7(unfulfilled),afterany:8_*(failed)", as squeue %E and scontrol show it; "" if there is
/// none. `is_array` says whether an id is that of an array, whose tasks are then all meant; it may
/// be empty.
std::string DependencyText(const BatchState& state, const std::function<bool(JobId)>& is_array);

/// "afterok", ...
std::string_view DependencyTypeName(DependencyType type);

}  // namespace muster::shapes
