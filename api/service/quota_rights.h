// The rule that keeps the quota of a cohort with its owner (rule U26). Who may update a
// ClusterQueue but not the cohort that it is in may share out what there is, and may not take more.
//
// Pure over two configurations and the authorizer; thread-safe.
#pragma once

#include "api/auth/authorizer.h"
#include "schedd/model/config.h"

namespace muster::api {

/// True if `who` may update every cohort, so that the rule does not concern it.
bool OwnsAllCohorts(const auth::Authorizer& authorizer, const auth::Principal& who);

/// Done if the step from `before` to `after` takes nothing from a cohort that `who` may not update
/// (verb update on cohorts/NAME, also of a cohort that is only named). kPermissionDenied with a
/// sentence if it would
/// - grow the sum of nominal quota of one flavor and resource below such a cohort, or
/// - move a ClusterQueue or a cohort into or out of it.
Status CheckQuotaRights(const auth::Authorizer& authorizer, const auth::Principal& who,
                        const ConfigView& before, const ConfigView& after);

}  // namespace muster::api
