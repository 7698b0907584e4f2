// Whether a ResourceFlavor can host the pods of a pod set at all, apart from quota (rule A28).
// Pure.
#pragma once

#include <string>

#include "schedd/model/queues.h"
#include "schedd/model/scheduling.h"

namespace muster::core {

/// "" if the flavor can host pods with these constraints (null: none), else the reason in Kueue's
/// words. Of nodeSelector and affinity only the keys that are labels of this flavor take part; a
/// term without such a key matches.
std::string FlavorMismatch(const ResourceFlavor& flavor, const SchedulingConstraints* constraints);

/// True if a taint with this effect (NoSchedule or NoExecute) keeps new pods away.
bool Repels(const Taint& taint);

/// "{key value NoSchedule <nil>}", as Kueue prints a taint.
std::string TaintText(const Taint& taint);

}  // namespace muster::core
