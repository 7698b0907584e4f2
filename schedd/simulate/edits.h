// Edits: "what if" changes of a scenario's configuration, one word each. Pure.
#pragma once

#include <string_view>

#include "schedd/base/result.h"
#include "schedd/simulate/simulator.h"

namespace muster::simulate {

/// Applies one edit to the scenario's configuration:
///   clusterqueue/NAME:FLAVOR/RESOURCE=AMOUNT    the nominal quota; "+8" and "-8" change it by that
///   clusterqueue/NAME:FLAVOR/RESOURCE.borrowingLimit=AMOUNT      or lendingLimit; "none": no limit
///   cohort/NAME:FLAVOR/RESOURCE...=AMOUNT       the same of a cohort's own quota
///   membercluster/NAME:RESOURCE=AMOUNT          what a member that declares no machines has
/// Errors (kInvalidArgument): what the edit names is not there; the amount is none, or ends below
/// 0.
Status ApplyEdit(std::string_view edit, Scenario* scenario);

}  // namespace muster::simulate
