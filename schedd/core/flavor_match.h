// Whether a ResourceFlavor can host the pods of a pod set at all, quota aside (kueue.md 2.6 "Can
// the flavor host it"). Pure.
#pragma once

#include <string>
#include <vector>

#include "schedd/model/config.h"

namespace muster::core {

/// The label keys of the flavors of a resource group, sorted: only these take part in affinity
/// matching.
std::vector<std::string> LabelKeysOf(const ConfigView& config, const ResourceGroup& group);

/// "" if the flavor can host pods with these constraints (null: none), else why not, in Kueue's
/// words.
std::string FlavorMismatch(const ConfigView& config, const std::string& flavor,
                           const std::vector<std::string>& label_keys,
                           const SchedulingConstraints* constraints);

/// True if a taint with this effect keeps new pods away.
bool Repels(const Taint& taint);

/// "{key value NoSchedule <nil>}", as Kueue prints a taint.
std::string TaintText(const Taint& taint);

}  // namespace muster::core
