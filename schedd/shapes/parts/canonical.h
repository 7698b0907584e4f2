// Quantities of manifests as an API server answers them: texts in canonical form, whatever the user
// wrote (`cpu: 1` is "1", `memory: 1024Mi` is "1Gi"). Clients of Kubernetes read nothing else.
//
// Pure.
#pragma once

#include "schedd/text/json.h"

namespace muster::shapes {

/// Changes every quantity below `value`, a manifest of an accepted kind or a part of one, to its
/// canonical text: requests, limits and overhead of pods, size limits, divisors, storage, quotas
/// and their limits, weights of fair sharing, LimitRanges, RuntimeClasses. What is no quantity
/// stays. Of kinds that carry other objects or plain data (ConfigMap, Secret, envelopes, overrides)
/// nothing changes.
void CanonicaliseQuantities(json::value* value);

}  // namespace muster::shapes
