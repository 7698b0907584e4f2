// RemoveLeftovers: removes the children and pods that an attempt's object has left running, because
// it was deleted without them (`kubectl delete --cascade=orphan`) or because the member's garbage
// collector has not come to them yet. Runs on the session's strand.
#pragma once

#include <cstdint>
#include <string>

#include "backends/backend.h"
#include "backends/k8s/session.h"

namespace muster::k8s {

struct LeftoverOrder {
  AttemptLabels attempt;
  RemoteObject object;            // the object that is gone
  std::string uid;                // its uid
  std::int64_t wait_ms = 10'000;  // after this kUnavailable: some leftovers are still there
};

/// The label selector of everything that an attempt has on its member.
std::string SelectorOf(const AttemptLabels& attempt);

/// Removes the leftovers and waits until they are gone. Objects that another object controls are
/// not touched, even under our labels. Answers with a description of what had no owner ("2 Jobs and
/// 4 pods"), or "" if nothing was found. Idempotent.
void RemoveLeftovers(const SessionPtr& session, LeftoverOrder order, Callback<std::string> done);

}  // namespace muster::k8s
