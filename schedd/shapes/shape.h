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
#include "schedd/text/json.h"

namespace muster::shapes {

/// A manifest, validated: what the service needs to accept a job.
struct ParsedJob {
  ShapeKind shape = ShapeKind::kJob;
  std::string api_version = {}, kind = {};  // "batch/v1", "Job"
  // metadata; ns "" if absent; name "" only for a batch script or generateName
  std::string name = {}, ns = {};
  std::string generate_name = {};  // metadata.generateName, resolved by the service
  std::string display_name = {};   // batch script: its --job-name
  // label, then annotation kueue.x-k8s.io/queue-name, spec.queueName; "" if none
  std::string queue = {};
  std::string priority_class = {};  // kueue.x-k8s.io/priority-class
  // a Workload's spec.admission.clusterQueue
  std::optional<std::string> expected_cluster_queue = {};
  PodSets pod_sets = {};
  std::int64_t time_limit_s = 0;
  std::int64_t ttl_after_finished_s = -1;
  bool hold = false;                    // batch script --hold
  std::int64_t priority_boost = 0;      // annotation kueue.x-k8s.io/priority-boost
  std::int64_t max_execution_s = 0;     // label kueue.x-k8s.io/max-exec-time-seconds; 0: none
  bool elastic = false;                 // annotation kueue.x-k8s.io/elastic-job
  std::string admission_gated_by = {};  // annotation kueue.x-k8s.io/admission-gated-by
  std::vector<std::string> preemption_gates = {};  // a Workload's spec.preemptionGates
  std::shared_ptr<const BatchDetails> batch = {};
  JobPlacementPtr placement = {};  // labels and annotations muster.io/placement, cluster, datasets
  json::value manifest;            // as submitted, without status and managedFields
};

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
