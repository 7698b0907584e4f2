// What an attempt's object has left running: children and pods that no longer belong to anything,
// because somebody deleted it without them (`kubectl delete --cascade=orphan`), and those that the
// member's garbage collector has not come to yet. Runs on the session's strand.
#pragma once

#include <cstdint>
#include <string>

#include "backends/backend.h"
#include "backends/k8s/session.h"

namespace muster::k8s {

struct LeftoverOrder {
  AttemptLabels attempt;
  RemoteObject object;            // that is gone
  std::string uid;                // which it had
  std::int64_t wait_ms = 10'000;  // then kUnavailable: some of it is still there
};

/// Removes what was left and waits until it is gone; what belongs to another object, a copy under
/// our labels, is not touched. Answers with what had been left without an owner, in words ("2 Jobs
/// and 4 pods"); "" if nothing was. Idempotent.
void RemoveLeftovers(const SessionPtr& session, LeftoverOrder order, Callback<std::string> done);

}  // namespace muster::k8s
