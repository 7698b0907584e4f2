// The names that roles have for what requests ask for: jobs by the group and plural of their own
// kind, configuration objects by those of theirs, and Muster's own resources (rule U20).
//
// Constants and pure functions; thread-safe. A ResourceRef holds views: what it was made of must
// outlive it.
#pragma once

#include <string_view>

#include "api/auth/authorizer.h"
#include "schedd/model/job.h"
#include "schedd/shapes/config/object_kinds.h"

namespace muster::api {

/// Subresources of jobs: their logs, their status as controllers write it, and what the caller
/// itself submitted.
inline constexpr std::string_view kLogSubresource = "log";
inline constexpr std::string_view kStatusSubresource = "status";
inline constexpr std::string_view kOwnSubresource = "own";

/// A kind of jobs: batch/jobs, ray.io/rayjobs; batch scripts are muster.io/batchscripts.
auth::ResourceRef RefOf(ShapeKind shape, std::string_view ns, std::string_view name,
                        std::string_view subresource = "");
auth::ResourceRef RefOf(const JobRecord& job, std::string_view subresource = "");
/// A job as Kueue's Workload of the name `workload`: kueue.x-k8s.io/workloads.
auth::ResourceRef WorkloadRef(std::string_view ns, std::string_view workload,
                              std::string_view subresource = "");
/// A configuration object. `ns` is not used for kinds of the cluster.
auth::ResourceRef RefOf(const shapes::KindInfo& info, std::string_view ns, std::string_view name,
                        std::string_view subresource = "");

/// Muster's own resources, of group muster.io.
auth::ResourceRef EventsIn(std::string_view ns);
auth::ResourceRef AccountingIn(std::string_view ns, std::string_view subresource = "");
auth::ResourceRef SimulationsIn(std::string_view ns);
auth::ResourceRef AuditTrail();

auth::ResourceRef ClusterQueueRef(std::string_view name);
auth::ResourceRef CohortRef(std::string_view name);
auth::ResourceRef MemberRef(std::string_view name);

}  // namespace muster::api
