// Ensure on a Kubernetes member (rules D8, D10, D11): make the object, or adopt it,
// or replace an earlier attempt's; release it; resize it. Runs on the session's strand.
#pragma once

#include "backends/backend.h"
#include "backends/k8s/session.h"

namespace muster::k8s {

/// Errors: kAlreadyExists (something that is not ours has the name), kAborted (a higher attempt is
/// there: who asks is stale), kNotFound (`expected_uid` is given and that object is not there),
/// kFailedPrecondition (kind not installed; the member strips our labels), kInvalidArgument and
/// kPermissionDenied (the member refuses the object, with its sentence), kUnavailable (surely not
/// made, or to be tried again), kUnknown (it may have been made).
void EnsureObject(const SessionPtr& session, DispatchOrder order, Callback<RemoteRef> done);

}  // namespace muster::k8s
