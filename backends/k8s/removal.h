// Removal of an attempt's object from its member, proven: answered when the object and, since it is
// a foreground deletion, its pods are gone (rule D15). Runs on the session's strand.
#pragma once

#include <string>

#include "backends/backend.h"
#include "backends/k8s/session.h"

namespace muster::k8s {

struct RemovalOrder {
  AttemptLabels attempt;
  RemoteObject object;               // name "": looked for by the attempt's labels
  std::string expected_uid;          // "": whichever object has the attempt's labels
  std::int64_t grace_period_s = -1;  // of its pods; -1: each pod's own
  std::int64_t wait_ms = 60'000;     // then kUnavailable: it is still being removed
};

/// Deletes with the uid as its precondition and takes our finalizer away. What is not ours or has
/// another uid is left alone and `existed` is false. Idempotent.
void RemoveObject(const SessionPtr& session, RemovalOrder order, Callback<Removed> done);

/// Takes our finalizer away from the object if it still is `uid`. Idempotent; an object that is
/// gone is no error.
void LetGo(const SessionPtr& session, const RemoteObject& object, const std::string& uid,
           Callback<Done> done);

/// True if the object has this Muster's instance label.
bool IsOfInstance(const Session& session, const json::object& object);

/// True if the object also has a mark that only its maker leaves: our finalizer or the dispatch
/// sequence. Labels alone are easily copied.
bool IsMadeHere(const Session& session, const json::object& object, const ObjectState& state);

}  // namespace muster::k8s
