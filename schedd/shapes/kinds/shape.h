// A shape is one kind of job manifest: how it is validated into pod sets and what is dispatched for
// it. Pure functions; one file per shape, one line in the registry (registry.cc).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/model/config.h"
#include "schedd/model/dispatch.h"
#include "schedd/model/job.h"
#include "schedd/shapes/parts/parsed_job.h"
#include "schedd/text/json.h"

namespace muster::shapes {

/// Every wrong field at once (Error.fields), each with its path, judged as the kind's own API
/// would. Unknown apiVersion/kind: kInvalidArgument naming `kind`. A manifest that is moved in is
/// not copied.
Result<ParsedJob> ParseJob(json::value manifest);

/// True if the document's apiVersion and kind are a job shape of this registry.
bool IsJobShape(const json::value& manifest);

/// One object to create on a member beside the job itself.
struct RenderedObject {
  std::string api_version, kind, ns, name;
  json::value manifest;
};

/// What is dispatched: the job's object, suspended or not, and its dependents that Muster itself
/// makes.
struct Rendered {
  RenderedObject object;                   // kind's own object; a batch script becomes a Job
  std::vector<RenderedObject> dependents;  // ConfigMap with a batch script
};

struct RenderOptions {
  std::string_view instance_id;  // of this Muster installation
  bool suspended = false;        // in the form that starts nothing; else in the released one
  /// Of batch scripts whose queues name no image (annotation muster.io/default-image of the
  /// LocalQueue, else of the ClusterQueue); "": none, and only members without images run them.
  std::string_view default_image = {};
};

/// The user's manifest with what admission decided (flavors' node labels and tolerations, checks'
/// updates, counts, the domains of a topology) and Muster's labels (model/member_labels.h), and
/// only that. Removed is what a member must not act on: TTL fields, managedBy, generated labels and
/// selectors, the labels that would put it into a queue of the member's own.
Result<Rendered> Render(const JobRecord& job, const json::value& manifest, const ConfigView& config,
                        const RenderOptions& options);

/// Where the object that Render makes of this job is on a member: a batch script is a Job there, a
/// Workload of one pod set too, one of several a JobSet.
RemoteObject RemoteObjectOf(const JobRecord& job);
/// "batch/v1" of "Job": of the kinds that RemoteObjectOf names; "" of others.
std::string_view ApiVersionOf(std::string_view member_kind);

/// ConfigMaps and Secrets (kind, name in the job's namespace) that the manifest's pods refer to
/// without `optional`.
struct ObjectReference {
  std::string kind, name;
  bool operator==(const ObjectReference&) const = default;
};
std::vector<ObjectReference> ReferencedObjects(const JobRecord& job, const json::value& manifest);

}  // namespace muster::shapes
