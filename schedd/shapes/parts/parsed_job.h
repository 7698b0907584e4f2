// ParsedJob: a job's manifest after validation. A plain value.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schedd/model/job.h"
#include "schedd/text/json.h"

namespace muster::shapes {

/// A manifest after validation: everything that the service needs to accept a job.
struct ParsedJob {
  ShapeKind shape = ShapeKind::kJob;
  std::string api_version = {}, kind = {};  // "batch/v1", "Job"
  // metadata; ns "" if absent; name "" only for a batch script or generateName
  std::string name = {}, ns = {};
  std::string generate_name = {};  // metadata.generateName, resolved by the service
  std::string display_name = {};   // batch script: its --job-name
  // label, then annotation kueue.x-k8s.io/queue-name, spec.queueName; "" if none; of a batch script
  // also several, "a,b"
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
  BatchStatePtr batch_state = {};  // with which a batch script begins; null: all defaults
  JobPlacementPtr placement = {};  // labels and annotations muster.io/placement, cluster, datasets
  json::value manifest;            // as submitted, without status and managedFields
};

}  // namespace muster::shapes
