// EnsureObject: carries out Ensure on a Kubernetes member (rules D8, D10, D11): creates the object,
// adopts it or replaces an earlier attempt's, releases it, resizes it. Runs on the session's
// strand.
#pragma once

#include "backends/backend.h"
#include "backends/k8s/session.h"

namespace muster::k8s {

/// Errors: kAlreadyExists (an object that is not ours has the name), kAborted (a higher attempt is
/// there, so the caller is stale), kNotFound (`expected_uid` is given and that object is gone),
/// kFailedPrecondition (the kind is not installed; the member strips our labels), kInvalidArgument
/// and kPermissionDenied (the member refuses the object, with its sentence), kUnavailable (surely
/// not created, or to be tried again; also if the member's user lacks a permission), kUnknown (may
/// have been created).
void EnsureObject(const SessionPtr& session, DispatchOrder order, Callback<RemoteRef> done);

}  // namespace muster::k8s
