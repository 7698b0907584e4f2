// What a member's components said of an attempt: core/v1 Events of its object and pods.
#pragma once

#include <vector>

#include "backends/backend.h"
#include "backends/k8s/session.h"

namespace muster::k8s {

/// Blocking, some seconds at most: the events of the object and of some twenty of its pods, those
/// that failed or wait before others; oldest first, the last kEventsMax of them.
Result<std::vector<MemberEvent>> ReadEvents(const SessionPtr& session, const ObjectState& object,
                                            const std::vector<PodState>& pods);

}  // namespace muster::k8s
