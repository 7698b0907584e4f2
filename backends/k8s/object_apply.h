// One configuration object is made as its manifest says, as far as its apply strategy lets it
// (rules P25, P26; README.md, "Configuration objects"). Runs on the session's strand.
#pragma once

#include "backends/k8s/session.h"
#include "backends/member_objects.h"

namespace muster::k8s {

/// MemberObjects::Apply. `done` is called on the strand.
void ApplyObject(const SessionPtr& session, ObjectOrder order, Callback<ObjectOutcome> done);

}  // namespace muster::k8s
