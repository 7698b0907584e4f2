// RemoveObjectOf: removes one configuration object from its member, or leaves it there without our
// marks. Runs on the session's strand.
#pragma once

#include "backends/k8s/session.h"
#include "backends/member_objects.h"

namespace muster::k8s {

/// MemberObjects::Remove. `done` is called on the strand.
void RemoveObjectOf(const SessionPtr& session, ObjectRemoval removal, Callback<bool> done);

}  // namespace muster::k8s
