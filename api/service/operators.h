// Operators: who may do to jobs what Slurm leaves to its operators (rules B32, B33). Pure over the
// authorizer; thread-safe.
#pragma once

#include <string>

#include "api/auth/authorizer.h"
#include "schedd/model/job.h"

namespace muster::api {

/// True if `who` may update the ClusterQueue: an operator of its jobs. A "no" is not noted.
bool IsOperator(const auth::Authorizer& authorizer, const auth::Principal& who,
                const std::string& cluster_queue);
/// Done, or kPermissionDenied: "only an operator may WHAT", with the right that is missing.
Status MustBeOperator(const auth::Authorizer& authorizer, const auth::Principal& who,
                      const std::string& cluster_queue, const std::string& what);
/// Whether `who` may submit the script with the priority and the nice value that it asks for: a
/// user may only lower its priority.
Status CheckAskedPriority(const auth::Authorizer& authorizer, const auth::Principal& who,
                          const JobRecord& job);

}  // namespace muster::api
