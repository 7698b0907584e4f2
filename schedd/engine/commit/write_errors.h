// The meaning of a failed write of the store, for the daemon and for the client that waits. Pure.
#pragma once

#include "schedd/base/result.h"

namespace muster {

/// True if the store would refuse the same PlanCommit every time: a constraint or a value, not the
/// database's health. Then an invariant is broken and the daemon stops.
bool RefusedForGood(const Error& error);
/// The error for a client whose write failed: always kUnavailable, with a sentence that says
/// whether anything may have been written.
Error WriteError(const Error& error);

}  // namespace muster
