// AdmissionState: what a workload collects on its way through admission beyond its reservation
// (rules A15, A48 to A57). Plain values, kept only by jobs that have any of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/base/time.h"
#include "schedd/model/scheduling.h"
#include "schedd/model/workload_slices.h"

namespace muster {

enum class CheckState : std::uint8_t { kPending = 1, kReady = 2, kRetry = 3, kRejected = 4 };
std::string_view CheckStateName(CheckState state);

/// What an admission check adds to the pods of one pod set when the workload starts.
struct PodSetUpdate {
  std::string pod_set;
  LabelMap labels, annotations, node_selector;
  std::vector<Toleration> tolerations;
  bool operator==(const PodSetUpdate&) const = default;
};

/// status.admissionChecks[].
struct AdmissionCheckStatus {
  std::string name;
  CheckState state = CheckState::kPending;
  std::string message;
  WallTime last_transition;
  std::optional<std::int32_t> requeue_after_s;
  std::int32_t retry_count = 0;
  std::vector<PodSetUpdate> updates;
  bool operator==(const AdmissionCheckStatus&) const = default;
};

enum class PreemptionGateKind : std::uint8_t {
  kOfWorkload,   // named by the workload: counts under feature gates alone
  kOfPartition,  // of a job's entry in a partition other than its own: counts always (rule B29)
};
struct PreemptionGate {
  std::string name;
  bool open = false;
  PreemptionGateKind kind = PreemptionGateKind::kOfWorkload;
  bool operator==(const PreemptionGate&) const = default;
};

/// Pods that have finished and gave back their quota (KEP-78).
struct ReclaimablePods {
  std::string pod_set;
  std::int32_t count = 0;
  bool operator==(const ReclaimablePods&) const = default;
};

/// How often a workload was evicted for a reason and cause.
struct EvictionCount {
  std::string reason, cause;
  std::int32_t count = 0;
  bool operator==(const EvictionCount&) const = default;
};

/// A member on which an attempt failed to start; avoided for a while (rule P16).
struct AvoidedCluster {
  std::string cluster;
  WallTime until;
  bool operator==(const AvoidedCluster&) const = default;
};

struct AdmissionState {
  bool active = true;                  // spec.active; false: deactivated
  std::string deactivation_cause;      // why Muster deactivated the workload; "": it did not
  std::int32_t requeue_count = 0;      // status.requeueState.count
  std::optional<WallTime> requeue_at;  // status.requeueState.requeueAt
  std::vector<AdmissionCheckStatus> checks;
  std::vector<ReclaimablePods> reclaimable;
  std::vector<std::string> unhealthy_nodes;
  /// Its one owner is a Pod, so it cannot move to another machine.
  bool owned_by_pod = false;
  std::vector<PreemptionGate> preemption_gates;
  std::string admission_gated_by;     // annotation kueue.x-k8s.io/admission-gated-by
  std::int64_t past_execution_s = 0;  // accumulatedPastExecutionTimeSeconds
  std::vector<EvictionCount> evictions;
  std::string replaces_slice;     // elastic: "namespace/name" of the slice it replaces
  std::string concurrent_parent;  // "namespace/name" of its parent workload
  std::optional<std::vector<std::string>> allowed_flavors;  // KEP-8691 variants
  /// The sentence that Misconfigured shows because the pods' requests break a limit or a
  /// LimitRange; "" if nothing is wrong (rules A5, A19).
  std::string resource_problem;
  /// Of an elastic job whose size was changed.
  std::optional<ElasticScale> scale;
  /// By name.
  std::vector<AvoidedCluster> avoided;
  /// Members that are asked to admit it, the best first.
  std::vector<std::string> nominated;
  bool operator==(const AdmissionState&) const = default;
};
using AdmissionStatePtr = std::shared_ptr<const AdmissionState>;

}  // namespace muster
