// What a workload counts against quota: from the request of a pod to the totals of its pod sets
// (rule A5; KEP-78 reclaimable pods, KEP-2937 transformations). Pure.
#pragma once

#include <string>
#include <vector>

#include "schedd/model/job.h"

namespace muster {

/// The part of a pod's request that counts against quota: resources with an excluded prefix are
/// dropped, then transformations applied. Outputs of the same name are summed exactly, never below
/// 0, added to what the pod requests by that name itself, and rounded up once. An input whose
/// multiplyBy resource is not requested counts once.
ResourceList QuotaRequest(const ResourceList& of_pod, const AdmissionSettings& settings);

/// Sets requests of a pod set to QuotaRequest(of_pod), and node_requests to of_pod if it differs.
void SetRequests(const ResourceList& of_pod, const AdmissionSettings& settings, PodSet* pod_set);

/// Pods of a pod set that are still needed: declared pods minus those whose quota was given back.
std::int32_t PodsLeft(const JobRecord& job, const PodSet& pod_set,
                      const AdmissionSettings& settings);

/// The part of the job's admission that counts as used: a pod set with fewer pods than were
/// admitted (given back, KEP-78, or scaled down) counts with these only. The admission itself if
/// all pods count; null without one.
AdmissionPtr ChargedAdmission(const JobRecord& job, const AdmissionSettings& settings);

/// One pod set's part of what a workload counts.
struct PodSetTotal {
  std::string name;
  std::int32_t count = 0;
  /// Of all its pods.
  ResourceList requests;
  /// Null: none yet.
  const PodSetAssignment* reservation = nullptr;
};

/// While the job waits: the requests of the pods that are left. With a reservation: what it
/// charges, scaled down to the pods that are left if they are fewer.
std::vector<PodSetTotal> TotalRequests(const JobRecord& job, const AdmissionSettings& settings);

}  // namespace muster
