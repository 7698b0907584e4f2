// How a Job's failed pods and index lists are read: podFailurePolicy and succeededIndexes. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/local/pods/pod_wish.h"

namespace muster::local {

/// "0,2-4" is 0 2 3 4; malformed parts are skipped.
std::vector<std::int32_t> ParseIndexes(const std::string& text);
/// The index of the first rule of podFailurePolicy that a failed pod matches; -1 for none.
int MatchFailureRule(const json::object& spec, const PodRecord& pod);

}  // namespace muster::local
