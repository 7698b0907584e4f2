// Whether an attempt's object that the member does not tell of any more is really gone. A watch
// with a label selector tells a deletion too when somebody takes the label away, so the object is
// asked for by name and uid, and our marks are put back on it. Runs on the session's strand.
#pragma once

#include <string>

#include "backends/backend.h"
#include "backends/k8s/session.h"

namespace muster::k8s {

/// Backend::Confirm. `uid` "": whichever object of the name has the attempt's labels.
void ConfirmObject(const SessionPtr& session, const AttemptLabels& attempt,
                   const RemoteObject& object, const std::string& uid, Callback<Presence> done);

}  // namespace muster::k8s
