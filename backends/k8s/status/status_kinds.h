// What each kind's spec and status say; internal to the status reading. Pure.
#pragma once

#include "backends/k8s/status/reader.h"
#include "backends/k8s/status/status.h"

namespace muster::k8s {

/// Fills everything of `state` that the kind's own fields tell: suspended, phase, reason, message,
/// times, counts, reclaimable. `state->kind` is set.
void ReadKindStatus(const Reader& object, ObjectState* state);

/// The condition of this type in a list of conditions (metav1 or a kind's own); absent if none.
Reader ConditionOf(const Reader& conditions, std::string_view type);
inline bool HoldsTrue(const Reader& condition) { return condition["status"].View() == "True"; }

}  // namespace muster::k8s
