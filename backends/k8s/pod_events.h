// ReadEvents: what a member's components said about an attempt: core/v1 Events of its object and
// pods.
#pragma once

#include <vector>

#include "backends/backend.h"
#include "backends/k8s/session.h"

namespace muster::k8s {

/// Blocks for some seconds at most. Reads the events of the object and of at most twenty pods,
/// failed and pending ones first. Oldest first; the last kEventsMax of them.
Result<std::vector<MemberEvent>> ReadEvents(const SessionPtr& session, const ObjectState& object,
                                            const std::vector<PodState>& pods);

}  // namespace muster::k8s
