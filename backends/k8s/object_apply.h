// ApplyObject: makes one configuration object as its manifest says, as far as the apply strategy
// permits (rules P25, P26). Runs on the session's strand.
#pragma once

#include "backends/k8s/session.h"
#include "backends/member_objects.h"

namespace muster::k8s {

/// MemberObjects::Apply. `done` is called on the strand.
void ApplyObject(const SessionPtr& session, ObjectOrder order, Callback<ObjectOutcome> done);

}  // namespace muster::k8s
