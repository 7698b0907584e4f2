// Edits: "what if" changes of a scenario's configuration, one word each. Pure.
#pragma once

#include <string_view>

#include "schedd/base/result.h"
#include "schedd/simulate/simulator.h"

namespace muster::simulate {

/// Applies one edit to the scenario's configuration:
///   clusterqueue/NAME:FLAVOR/RESOURCE=AMOUNT   the nominal quota; "+8" and "-8" change it by 8
///   clusterqueue/NAME:FLAVOR/RESOURCE.borrowingLimit=AMOUNT   or lendingLimit; "none": no limit
///   cohort/NAME:FLAVOR/RESOURCE...=AMOUNT      the same of a cohort's own quota
///   membercluster/NAME:RESOURCE=AMOUNT         the capacity of a member without declared machines
/// Errors (kInvalidArgument): the object or quota that the edit names does not exist; the amount is
/// no quantity, or the result is below 0.
Status ApplyEdit(std::string_view edit, Scenario* scenario);

}  // namespace muster::simulate
