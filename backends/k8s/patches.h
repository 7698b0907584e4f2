// What Muster writes on a member: the object as it is created, and the patches that release,
// resize and let go of it (rules D8 to D12). All patches are JSON Patch
// (application/json-patch+json) and begin by testing the uid, so that a late one never meets
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

/// What a patch tests first: the uid, and that nobody has touched what matters since. That is the
/// generation where the member counts it (0: it does not): it grows with the spec and with a
/// deletion, and not with each word of a controller in the status, as the resource version does,
/// which is tested instead (not if it is empty).
struct Preconditions {
  std::string_view uid, resource_version;
  std::int64_t generation = 0;
};

/// A rendered manifest with a container that has no image (a batch script whose queues name none,
/// shapes::RenderOptions) cannot run on Kubernetes: kFailedPrecondition, saying what to set.
Status CheckImages(const json::value& rendered);

/// Takes priorityClassName away wherever the member has no PriorityClass of that name: its API
/// server would refuse every pod. `known`: names of the member's classes.
void DropPriorityClasses(const std::set<std::string, std::less<>>& known, json::object* manifest);

/// Adds what only the backend knows to a rendered manifest before it is created: our finalizer and
/// the dispatch sequence; with `released` (one call makes it run) also the mark that ReleasePatch
/// leaves. The suspended form itself comes rendered.
void Decorate(std::int64_t sequence, bool released, json::object* manifest);

/// Lets it run: takes the suspension from `rendered`, the manifest in its released form (a
/// LeaderWorkerSet's replicas, an elastic Job's size too), and marks it as released.
std::string ReleasePatch(const KindInfo& kind, const json::value& rendered, Preconditions when);

/// Hands it to the member's own queue, which ends the suspension: marks it as released, with the
/// labels that name its LocalQueue and the Workload that was admitted for it. Not before its uid is
/// on record, for it may start at once.
std::string HandOverPatch(std::string_view local_queue, std::string_view workload,
                          Preconditions when);

/// Makes an elastic Job that runs have the size of `rendered`; nullopt if `live` has it already or
/// the kind has no size. `live`: the object as the member has it.
std::optional<std::string> ResizePatch(const KindInfo& kind, const json::value& live,
                                       const json::value& rendered, Preconditions when);

/// Takes our finalizer away, which stands at `position` of metadata.finalizers
/// (ObjectState::finalizer); tests that it does.
std::string AcknowledgePatch(std::string_view uid, std::int32_t position);

/// Puts our labels back, the mark of what was released (it is not suspended) and, unless it is
/// being deleted, our finalizer; nothing if `live` lacks none. `state`: what was read of it.
std::optional<std::string> MarksPatch(const json::object& live, const ObjectState& state,
                                      const AttemptLabels& attempt, std::string_view instance);

/// The body of a DELETE (meta/v1 DeleteOptions): Foreground, with the uid as its precondition.
/// grace_period_s < 0: each pod's own.
std::string DeleteBody(std::string_view uid, std::int64_t grace_period_s);

/// Makes a dependent (ConfigMap, Secret) belong to the object, so that it goes with it. Returns
/// false if it does already.
bool AddOwner(const RemoteObject& owner, std::string_view owner_uid, json::object* dependent);

}  // namespace muster::k8s
