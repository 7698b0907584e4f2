// The readers of configuration objects that several files use: typed readers of kinds, and parts of
// manifests that kinds share. Each checks everything but the metadata that all kinds have, and
// returns the values that decisions need. Internal to schedd/shapes; the conformance tests read
// their cases with them too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/model/queues.h"
#include "schedd/shapes/config/object_kinds.h"
#include "schedd/shapes/parts/field.h"
#include "schedd/shapes/parts/job_placement.h"

namespace muster::shapes {

ClusterQueue ReadClusterQueue(const Field& root);
Cohort ReadCohort(const Field& root);
ResourceFlavor ReadResourceFlavor(const Field& root);
LocalQueue ReadLocalQueue(const Field& root);
Namespace ReadNamespace(const Field& root);
Topology ReadTopology(const Field& root);
/// `active` is read from the status, which the check's controller writes.
AdmissionCheck ReadAdmissionCheck(const Field& root);
/// Entries for PersistentVolumeClaims are checked and left out.
LimitRange ReadLimitRange(const Field& root);
RuntimeClass ReadRuntimeClass(const Field& root);

/// What the resource groups of a queue or cohort may have.
struct QuotaRules {
  bool limits_allowed = false;          // only in a cohort, or with a parent
  const char* limits_message = "";      // Kueue's message where they are not
  bool lending_at_most_nominal = true;  // false for cohorts
};

/// spec.resourceGroups (quota_groups.cc).
std::vector<ResourceGroup> ReadResourceGroups(const Field& groups, const QuotaRules& rules);

/// The policies of a ClusterQueue's spec: preemption, flavor fungibility, admission checks, fair
/// share and concurrent admission (queue_policies.cc). The queue's cohort, groups and strategy must
/// be read already.
void ReadQueuePolicies(const Field& spec, ClusterQueue* queue);
/// fairSharing.weight of a ClusterQueue, Cohort or LocalQueue; 1 if absent (KEP-1714).
double ReadFairWeight(const Field& fair_sharing);

/// Annotation muster.io/on-cluster-lost of a ClusterQueue: wait, fail, afterFence, or
/// afterTimeout:DURATION; wait if absent.
OnClusterLost ReadOnClusterLost(const Field& annotation);

/// Annotations muster.io/dispatch-mode, -step and -every, and muster.io/rebalance, -gain and -every
/// of a ClusterQueue (queue_extensions.cc).
void ReadQueueExtensions(const Field& annotations, ClusterQueue* queue);

/// Annotations muster.io/partition-* of a LocalQueue (queue_partition.cc).
PartitionProperties ReadPartition(const Field& annotations);

/// A metav1.LabelSelector, checked.
LabelSelector ReadLabelSelector(const Field& selector);

/// The name in metadata, "" if absent.
std::string NameOf(const Field& root);
/// The namespace in metadata, "" if absent.
std::string NamespaceOf(const Field& root);

/// "v1" of "batch/v1" and of "v1" (queue_objects.cc).
std::string_view VersionOf(std::string_view api_version);

StopPolicy ReadStopPolicy(const Field& field);

}  // namespace muster::shapes
