// What each kind's spec and status mean. Internal to this directory. Pure.
#pragma once

#include "backends/k8s/status/reader.h"
#include "backends/k8s/status/status.h"

namespace muster::k8s {

/// Fills those fields of `state` that the kind's own spec and status determine: suspended, phase,
/// reason, message, times, counts, reclaimable. `state->kind` must be set.
void ReadKindStatus(const Reader& object, ObjectState* state);

/// The condition of this type in a list of conditions (metav1 or a kind's own); a Reader of nothing
/// if there is none.
Reader ConditionOf(const Reader& conditions, std::string_view type);
inline bool HoldsTrue(const Reader& condition) { return condition["status"].View() == "True"; }

}  // namespace muster::k8s
