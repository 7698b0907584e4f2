// ConfirmObject: finds out whether an attempt's object that is missing from the member's reports is
// really gone. A watch with a label selector reports a deletion also when the label is removed, so
// the object is read by name, and our marks are put back on it. Runs on the session's strand.
#pragma once

#include <string>

#include "backends/backend.h"
#include "backends/k8s/session.h"

namespace muster::k8s {

/// Backend::Confirm. `uid` "": any object of the name that has the attempt's labels.
void ConfirmObject(const SessionPtr& session, const AttemptLabels& attempt,
                   const RemoteObject& object, const std::string& uid, Callback<Presence> done);

}  // namespace muster::k8s
