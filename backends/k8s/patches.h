// Everything that Muster writes on an attempt's object: its additions at the creation, and the
// patches that release, resize and acknowledge it (rules D8 to D12). All patches are JSON Patch
// (application/json-patch+json) and begin with a test of the uid, so that a late one never changes
// another object of the name; an API server answers a failed test with 422.
//
// Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "backends/k8s/status/kinds.h"
#include "backends/k8s/status/status.h"
#include "schedd/base/result.h"
#include "schedd/model/dispatch.h"
#include "schedd/text/json.h"

namespace muster::k8s {

/// A key as part of a JSON pointer (RFC 6901).
std::string PointerToken(std::string_view key);

/// What a patch tests first: the uid, and that the spec has not changed. The latter is the
/// generation, which grows with the spec and with a deletion, but not with a controller's status
/// writes. A member that does not count it has 0 there; then the resource version is tested
/// instead, unless that is empty.
struct Preconditions {
  std::string_view uid, resource_version;
  std::int64_t generation = 0;
};

/// kFailedPrecondition, saying what to set, if a container of a rendered manifest has no image (a
/// batch script whose queues name none, shapes::RenderOptions): Kubernetes cannot run it.
Status CheckImages(const json::value& rendered);

/// Removes priorityClassName where the member has no PriorityClass of that name: its API server
/// would refuse every pod. `known`: names of the member's classes.
void DropPriorityClasses(const std::set<std::string, std::less<>>& known, json::object* manifest);

/// Adds to a rendered manifest what only the backend knows: our finalizer and the dispatch
/// sequence. With `released` (one call makes it run) also the mark that ReleasePatch leaves. The
/// suspension is rendered already.
void Decorate(std::int64_t sequence, bool released, json::object* manifest);

/// Lets the object run: sets the suspension field as `rendered`, the released form, has it (a
/// LeaderWorkerSet's replicas, an elastic Job's size too), and marks the object as released.
std::string ReleasePatch(const KindInfo& kind, const json::value& rendered, Preconditions when);

/// Hands the object to the member's own queue, which ends the suspension: marks it as released,
/// with the labels that name its LocalQueue and the Workload that was admitted for it. The queue
/// may start it at once, so its uid must be on record before.
std::string HandOverPatch(std::string_view local_queue, std::string_view workload,
                          Preconditions when);

/// Gives a running elastic Job the size of `rendered`; nullopt if `live`, the object on the member,
/// has that size already or the kind has no size.
std::optional<std::string> ResizePatch(const KindInfo& kind, const json::value& live,
                                       const json::value& rendered, Preconditions when);

/// Removes our finalizer, which is at `position` of metadata.finalizers (ObjectState::finalizer),
/// and tests that it is.
std::string AcknowledgePatch(std::string_view uid, std::int32_t position);

/// Puts back our labels, the released mark of an object that is not suspended and, unless it is
/// being deleted, our finalizer. Nothing if `live` lacks none of them. `state`: what ReadObject has
/// read of it.
std::optional<std::string> MarksPatch(const json::object& live, const ObjectState& state,
                                      const AttemptLabels& attempt, std::string_view instance);

/// The body of a DELETE (meta/v1 DeleteOptions): Foreground, with the uid as precondition.
/// grace_period_s < 0: each pod's own.
std::string DeleteBody(std::string_view uid, std::int64_t grace_period_s);

/// Makes the object an owner of a dependent (ConfigMap, Secret), so that the dependent is deleted
/// with it. False if it is an owner already.
bool AddOwner(const RemoteObject& owner, std::string_view owner_uid, json::object* dependent);

}  // namespace muster::k8s
