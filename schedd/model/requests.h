// What a workload counts against quota: from the request of a pod to the totals of its pod sets
// (rule A5; KEP-78 reclaimable pods, KEP-2937 transformations). Pure.
#pragma once

#include <string>
#include <vector>

#include "schedd/model/job.h"

namespace muster {

/// What of a pod's request counts against quota: resources with an excluded prefix are dropped,
/// then transformations applied. Outputs of one name are summed exactly, never below 0, added to
/// what the pod asks for by that name itself, and rounded up once. No multiplyBy asked for: once.
ResourceList QuotaRequest(const ResourceList& of_pod, const AdmissionSettings& settings);

/// Sets requests of a pod set to QuotaRequest(of_pod), and node_requests to of_pod if it differs.
void SetRequests(const ResourceList& of_pod, const AdmissionSettings& settings, PodSet* pod_set);

/// Pods of a pod set that are still needed: declared minus given back.
std::int32_t PodsLeft(const JobRecord& job, const PodSet& pod_set,
                      const AdmissionSettings& settings);

/// What of its admission counts as used: of a pod set that has fewer pods than were admitted (given
/// back, KEP-78, or scaled down) only those. The admission itself if all count; null without one.
AdmissionPtr ChargedAdmission(const JobRecord& job, const AdmissionSettings& settings);

/// One pod set's part of what a workload counts.
struct PodSetTotal {
  std::string name;
  std::int32_t count = 0;
  ResourceList requests;                          // of all its pods
  const PodSetAssignment* reservation = nullptr;  // null: none yet
};

/// While it waits: what is asked for by the pods left. With a reservation: what that charges,
/// scaled down to the pods left where they are fewer.
std::vector<PodSetTotal> TotalRequests(const JobRecord& job, const AdmissionSettings& settings);

}  // namespace muster
