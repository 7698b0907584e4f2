// What a namespace and a ClusterQueue allow their tenants (rules U71 to U73): the Pod Security
// level of pods, identity in manifests, the highest priority. Asked for every submission and, as
// far as an edit can change an answer, for edits of jobs.
//
// Pure functions over a published configuration.
#pragma once

#include <string>
#include <vector>

#include "api/auth/authorizer.h"
#include "schedd/model/config.h"
#include "schedd/shapes/kinds/shape.h"
#include "schedd/world/command.h"
#include "schedd/world/world_view.h"

namespace muster::api {

/// Done, or kPermissionDenied with every field of the manifest that is not allowed there. The Pod
/// Security level is that of the namespace's label or of the ClusterQueue's annotation, of both the
/// stricter, or, if they name different versions, both; baseline where neither says anything.
Status CheckManifestTenancy(const ConfigView& config, const std::string& ns,
                            const std::string& cluster_queue, const shapes::ParsedJob& job);

/// One sentence for each field that level `warn` of the Namespace does not allow; empty without
/// that label. `ns` may be "": then the manifest's own, else `default`.
std::vector<std::string> PodSecurityWarnings(const ConfigView& config, const std::string& ns,
                                             const json::value& manifest);

/// A priority that a job shall have.
struct WantedPriority {
  std::int64_t value = 0;  // of its class; 0 without one
  std::int64_t boost = 0;
  std::string_view class_field;  // where the class is named, for the refusal
};
/// Done if the priority is within the cap of the namespace, or if the caller may update the
/// namespace and so the cap; else kPermissionDenied.
Status CheckPriorityCap(const ConfigView& config, const AdmissionSettings& settings,
                        const std::string& ns, const WantedPriority& wanted,
                        const auth::Principal& who, const auth::Authorizer& authorizer);
/// The same for an edit of an existing job. An edit that does not raise the priority is allowed. In
/// a namespace with a cap an edit of the priority is bound to the version of the job that it was
/// judged by, so that two edits, each within the cap, do not exceed it together.
Status CheckPriorityEdit(const WorldView& view, const JobRecord& job, const auth::Principal& who,
                         const auth::Authorizer& authorizer, ChangeJobCommand* edit);

}  // namespace muster::api
