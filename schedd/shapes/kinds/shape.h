// A shape is one kind of job manifest: how it is validated into pod sets and what is dispatched for
// it. One file per shape, one line in shape_list.h.
//
// Pure functions; thread-safe.
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

/// The job that a manifest describes. Errors: all wrong fields at once (Error.fields), each with
/// its path, by the rules of the kind's own API; for an unknown apiVersion or kind,
/// kInvalidArgument naming `kind`. A manifest that is moved in is not copied.
Result<ParsedJob> ParseJob(json::value manifest);

/// True if the document's apiVersion and kind are a job shape of this registry.
bool IsJobShape(const json::value& manifest);

/// One object to create on a member beside the job itself.
struct RenderedObject {
  std::string api_version, kind, ns, name;
  json::value manifest;
};

/// What is dispatched: the job's object, suspended or not, and the objects beside it that Muster
/// makes itself.
struct RenderedJob {
  RenderedObject object;                   // of the kind that RemoteObjectOf names
  std::vector<RenderedObject> dependents;  // the ConfigMap with the text of a batch script
};

struct RenderOptions {
  std::string_view instance_id;  // of this Muster installation
  bool suspended = false;        // true: in the form that starts no pods
  /// The image of batch scripts whose queues name none (annotation muster.io/default-image of the
  /// LocalQueue, else of the ClusterQueue); "": none, and only members without images run them.
  std::string_view default_image = {};
};

/// The user's manifest with the decisions of admission (flavors' node labels and tolerations,
/// checks' updates, counts, the domains of a topology) and Muster's labels (model/member_labels.h);
/// nothing else is added. Fields that a member must not act on are removed: TTL fields, managedBy,
/// generated labels and selectors, and the labels that would put the job into a queue of the
/// member's own.
Result<RenderedJob> Render(const JobRecord& job, const json::value& manifest,
                           const ConfigView& config, const RenderOptions& options);

/// The name under which a member has the object that Render makes of this job. On a member a batch
/// script is a Job; a Workload is a Job if it has one pod set, else a JobSet.
RemoteObject RemoteObjectOf(const JobRecord& job);
/// "batch/v1" for "Job"; "" for names that are no kind of job.
std::string_view ApiVersionOf(std::string_view member_kind);

/// ConfigMaps and Secrets (kind, name in the job's namespace) that the manifest's pods refer to
/// without `optional`.
struct ObjectReference {
  std::string kind, name;
  bool operator==(const ObjectReference&) const = default;
};
std::vector<ObjectReference> ReferencedObjects(const JobRecord& job, const json::value& manifest);

}  // namespace muster::shapes
