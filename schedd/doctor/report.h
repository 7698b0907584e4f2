// The report of `muster doctor`, as text and as JSON. Pure.
#pragma once

#include <string>
#include <vector>

#include "schedd/doctor/checks.h"

namespace muster::doctor {

/// A line for each check, and under those that found something what it is and how to mend it.
std::string ReportText(const std::vector<Finding>& findings);
/// {"off": N, "checks": [{"name", "invariant", "state", "count", "what", "mend"}]}.
std::string ReportJson(const std::vector<Finding>& findings);
/// How many checks found something that is off.
std::int64_t CountOff(const std::vector<Finding>& findings);

}  // namespace muster::doctor
