// AdmissionSettings: the switches that change decisions, with Kueue's defaults (rule A2). One
// immutable value per daemon; the section `admission:` of the configuration file sets it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schedd/model/resources.h"

namespace muster {

/// fairSharing.preemptionStrategies (KEP-1714).
enum class FairStrategy : std::uint8_t { kLessThanOrEqualToFinalShare, kLessThanInitialShare };

/// One of resources.transformations (KEP-2937).
struct ResourceTransformation {
  std::string input;
  /// Strategy Replace; false: Retain.
  bool replace = false;
  /// "": none.
  std::string multiply_by;
  /// (resource, quantity text): the amount of each output per unit of input. A unit of input is its
  /// base unit as people write it: one core, one byte, one device. Outputs are in model units (cpu
  /// in thousandths).
  std::vector<std::pair<std::string, std::string>> outputs;  // resource, quantity text
};

struct WaitForPodsReady {
  bool enabled = true;
  std::int64_t timeout_s = 30 * 60;
  /// Absent: timeout_s; 0: off.
  std::optional<std::int64_t> recovery_timeout_s;
  bool block_admission = false;
  /// requeuingStrategy.timestamp Eviction; false: Creation.
  bool requeue_by_eviction_time = true;
  std::int64_t backoff_base_s = 60;
  std::int64_t backoff_max_s = 3600;
  /// Absent: without end.
  std::optional<std::int32_t> backoff_limit;
};

struct AdmissionFairSharing {
  std::int64_t half_life_s = 0;
  std::int64_t sampling_interval_s = 5 * 60;
  /// Resources that are not listed weigh 1.
  std::vector<std::pair<std::string, double>> resource_weights;
};

struct AdmissionSettings {
  /// nullopt: fair sharing is off. The order matters; Kueue's default is both, the final share
  /// first.
  std::optional<std::vector<FairStrategy>> fair_sharing;
  std::optional<AdmissionFairSharing> admission_fair_sharing;
  WaitForPodsReady pods_ready;
  std::vector<std::string> excluded_resource_prefixes;
  std::vector<ResourceTransformation> transformations;
  /// quotaCheckStrategy IgnoreUndeclared.
  bool ignore_undeclared = false;
  std::optional<std::int64_t> retain_finished_s, retain_deactivated_s;

  // Gates, by Kueue's names.
  bool admission_fair_sharing_gate = true;  // AdmissionFairSharing
  bool concurrent_admission = false;
  bool elastic_jobs = true;                   // ElasticJobsViaWorkloadSlices
  bool elastic_jobs_with_tas = false;         // ElasticJobsViaWorkloadSlicesWithTAS
  bool fair_preempt_within_nominal = true;    // FairSharingPreemptWithinNominal
  bool fair_prioritize_non_borrowing = true;  // FairSharingPrioritizeNonBorrowing
  bool flavor_fungibility = true;
  bool preserve_scan_progress = true;    // FlavorFungibilityPreserveScanProgress
  bool orchestrated_preemption = false;  // MultiKueueOrchestratedPreemption
  bool partial_admission = true;
  bool prioritize_preemptors = false;  // PrioritizePreemptorWorkloads
  bool priority_boost = false;
  bool priority_sorting_within_cohort = true;
  bool quota_check_strategy = true;
  bool reclaimable_pods = true;
  bool recompute_on_overlap = true;      // RecomputeAssignmentUponPreemptionTargetsOverlap
  bool equivalence_hashing = true;       // SchedulingEquivalenceHashing
  bool default_priority_class = true;    // WorkloadPriorityClassDefaulting
  bool unadmitted_observability = true;  // UnadmittedWorkloadsObservability
  bool tas = true;                       // TopologyAwareScheduling
  bool tas_balanced_placement = false;
  bool tas_failed_node_replacement = true;
  bool tas_fail_fast = true;            // TASFailedNodeReplacementFailFast
  bool tas_overlapping_flavors = true;  // TASHandleOverlappingFlavors
  bool tas_multi_layer = true;          // TASMultiLayerTopology
  bool tas_profile_mixed = true;
  bool tas_recompute_in_cycle = true;      // TASRecomputeAssignmentWithinSchedulingCycle
  bool tas_replace_on_taints = true;       // TASReplaceNodeOnNodeTaints
  bool tas_replace_on_termination = true;  // TASReplaceNodeOnPodTermination
  bool tas_preferred_affinity = false;     // TASRespectNodeAffinityPreferred
  bool skip_reassignment_for_pods = true;  // SkipReassignmentForPodOwnedWorkloads
};
using AdmissionSettingsPtr = std::shared_ptr<const AdmissionSettings>;

}  // namespace muster
