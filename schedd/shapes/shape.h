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
  json::value manifest;  // as submitted, without status and managedFields
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

/// The user's manifest with what admission decided and Muster's labels (muster.io/instance,
/// job-uid, attempt), and only that; TTL fields removed; `suspend` per argument. `flavors` supplies
/// node labels and tolerations.
Result<Rendered> Render(const JobRecord& job, const json::value& manifest, const ConfigView& config,
                        std::string_view instance_id, bool suspended);

/// ConfigMaps and Secrets (kind, name in the job's namespace) that the manifest's pods refer to
/// without `optional`.
struct ObjectReference {
  std::string kind, name;
  bool operator==(const ObjectReference&) const = default;
};
std::vector<ObjectReference> ReferencedObjects(const JobRecord& job, const json::value& manifest);

}  // namespace muster::shapes
