// Quantities of manifests as an API server answers them: text in canonical form, whatever the user
// wrote (`cpu: 1` becomes "1", `memory: 1024Mi` becomes "1Gi"). Clients of Kubernetes accept no
// other form.
//
// Pure.
#pragma once

#include "schedd/text/json.h"

namespace muster::shapes {

/// Changes every quantity below `value` to its canonical text. `value` is a manifest of an accepted
/// kind or a part of one. Quantities are: requests, limits and overhead of pods, size limits,
/// divisors, storage, quotas and their limits, weights of fair sharing, LimitRanges,
/// RuntimeClasses. Nothing changes in kinds that carry other objects or plain data (ConfigMap,
/// Secret, envelopes, overrides).
void CanonicaliseQuantities(json::value* value);

}  // namespace muster::shapes
