// What keeps a batch script out of its queue, whatever quota is free, in words for an explanation:
// dependencies, the time of --begin, limits of its partition, the task limit of its array (rules
// B29, B31, B32). Pure.
#pragma once

#include <optional>
#include <string>

#include "schedd/core/explain/explain.h"
#include "schedd/model/job.h"

namespace muster::api {

/// The gate of a waiting job, and what would open it; nullopt: no such gate is closed.
std::optional<core::ExplainGate> ExplainGateOf(const JobRecord& job);

}  // namespace muster::api
