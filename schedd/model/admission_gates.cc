// The table of gates: Kueue's name of each and the member of AdmissionSettings that it switches. A
// gate of Kueue on which no decision of Muster depends is not listed.
#include "schedd/model/admission_gates.h"

#include <array>
#include <utility>

namespace muster {
namespace {

using Gate = std::pair<std::string_view, bool AdmissionSettings::*>;

constexpr auto kGates = std::to_array<Gate>({
    {"AdmissionFairSharing", &AdmissionSettings::admission_fair_sharing_gate},
    {"ConcurrentAdmission", &AdmissionSettings::concurrent_admission},
    {"ElasticJobsViaWorkloadSlices", &AdmissionSettings::elastic_jobs},
    {"ElasticJobsViaWorkloadSlicesWithTAS", &AdmissionSettings::elastic_jobs_with_tas},
    {"FairSharingPreemptWithinNominal", &AdmissionSettings::fair_preempt_within_nominal},
    {"FairSharingPrioritizeNonBorrowing", &AdmissionSettings::fair_prioritize_non_borrowing},
    {"FlavorFungibility", &AdmissionSettings::flavor_fungibility},
    {"FlavorFungibilityPreserveScanProgress", &AdmissionSettings::preserve_scan_progress},
    {"MultiKueueOrchestratedPreemption", &AdmissionSettings::orchestrated_preemption},
    {"PartialAdmission", &AdmissionSettings::partial_admission},
    {"PrioritizePreemptorWorkloads", &AdmissionSettings::prioritize_preemptors},
    {"PriorityBoost", &AdmissionSettings::priority_boost},
    {"PrioritySortingWithinCohort", &AdmissionSettings::priority_sorting_within_cohort},
    {"QuotaCheckStrategy", &AdmissionSettings::quota_check_strategy},
    {"ReclaimablePods", &AdmissionSettings::reclaimable_pods},
    {"RecomputeAssignmentUponPreemptionTargetsOverlap", &AdmissionSettings::recompute_on_overlap},
    {"SchedulingEquivalenceHashing", &AdmissionSettings::equivalence_hashing},
    {"SkipReassignmentForPodOwnedWorkloads", &AdmissionSettings::skip_reassignment_for_pods},
    {"TASBalancedPlacement", &AdmissionSettings::tas_balanced_placement},
    {"TASFailedNodeReplacement", &AdmissionSettings::tas_failed_node_replacement},
    {"TASFailedNodeReplacementFailFast", &AdmissionSettings::tas_fail_fast},
    {"TASHandleOverlappingFlavors", &AdmissionSettings::tas_overlapping_flavors},
    {"TASMultiLayerTopology", &AdmissionSettings::tas_multi_layer},
    {"TASProfileMixed", &AdmissionSettings::tas_profile_mixed},
    {"TASRecomputeAssignmentWithinSchedulingCycle", &AdmissionSettings::tas_recompute_in_cycle},
    {"TASReplaceNodeOnNodeTaints", &AdmissionSettings::tas_replace_on_taints},
    {"TASReplaceNodeOnPodTermination", &AdmissionSettings::tas_replace_on_termination},
    {"TASRespectNodeAffinityPreferred", &AdmissionSettings::tas_preferred_affinity},
    {"TopologyAwareScheduling", &AdmissionSettings::tas},
    {"UnadmittedWorkloadsObservability", &AdmissionSettings::unadmitted_observability},
    {"WorkloadPriorityClassDefaulting", &AdmissionSettings::default_priority_class},
});

}  // namespace

bool* FindGate(AdmissionSettings* settings, std::string_view name) {
  for (const auto& [known, member] : kGates) {
    if (known == name) return &(settings->*member);
  }
  return nullptr;
}

}  // namespace muster
