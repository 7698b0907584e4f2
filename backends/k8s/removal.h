// RemoveObject: removes an attempt's object from its member and proves it (rule D15): the answer
// comes when the object and its pods are gone. Runs on the session's strand.
#pragma once

#include <string>

#include "backends/backend.h"
#include "backends/k8s/session.h"

namespace muster::k8s {

struct RemovalOrder {
  AttemptLabels attempt;
  RemoteObject object;               // name "": to be found by the attempt's labels
  std::string expected_uid;          // "": any object with the attempt's labels
  std::int64_t grace_period_s = -1;  // of its pods; -1: each pod's own
  std::int64_t wait_ms = 60'000;     // after this kUnavailable: it is still being removed
};

/// Deletes the object with its uid as precondition and removes our finalizer. An object that is not
/// ours or has another uid is left alone, and `existed` is false. Idempotent.
void RemoveObject(const SessionPtr& session, RemovalOrder order, Callback<RemovalResult> done);

/// Removes our finalizer from the object if that still has the uid. Idempotent; an object that is
/// gone is no error.
void LetGo(const SessionPtr& session, const RemoteObject& object, const std::string& uid,
           Callback<Done> done);

/// True if the object has this Muster's instance label.
bool IsOfInstance(const Session& session, const json::object& object);

/// True if the object also has a mark that only its creator leaves: our finalizer or the dispatch
/// sequence. Labels alone prove nothing, because they are easily copied.
bool IsMadeHere(const Session& session, const json::object& object, const ObjectState& state);

}  // namespace muster::k8s
