// What a failed write of the store means. Pure.
#pragma once

#include "schedd/base/result.h"

namespace muster {

/// True if the store would refuse the same PlanCommit every time: a constraint or a value, not the
/// database's health. Then an invariant is broken and the daemon stops.
bool RefusedForGood(const Error& error);
/// What a user is told when a write failed: always kUnavailable, and whether anything may have been
/// written.
Error WriteError(const Error& error);

}  // namespace muster
