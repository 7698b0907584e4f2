// The typed readers of configuration objects, one per kind. Internal to schedd/shapes. Each checks
// everything but the metadata and returns what a decision needs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/model/disruption.h"
#include "schedd/model/override.h"
#include "schedd/model/placement.h"
#include "schedd/model/queues.h"
#include "schedd/shapes/config/queue_objects.h"
#include "schedd/shapes/parts/field.h"
#include "schedd/shapes/parts/job_placement.h"

namespace muster::shapes {

ClusterQueue ReadClusterQueue(const Field& root);
Cohort ReadCohort(const Field& root);
ResourceFlavor ReadResourceFlavor(const Field& root);
LocalQueue ReadLocalQueue(const Field& root);
WorkloadPriorityClass ReadWorkloadPriorityClass(const Field& root);
Namespace ReadNamespace(const Field& root);
MemberCluster ReadMemberCluster(const Field& root);
Topology ReadTopology(const Field& root);
/// `active` is read from status: its controller writes it.
AdmissionCheck ReadAdmissionCheck(const Field& root);
/// Entries for PersistentVolumeClaims are checked and left out.
LimitRange ReadLimitRange(const Field& root);
RuntimeClass ReadRuntimeClass(const Field& root);
/// A placement's annotations are read into its policy.
Placement ReadClusterResourcePlacement(const Field& root);
Placement ReadResourcePlacement(const Field& root);
DisruptionBudget ReadClusterDisruptionBudget(const Field& root);
DisruptionBudget ReadDisruptionBudget(const Field& root);
/// `over` is read from status: the engine writes it.
PlacementEviction ReadClusterPlacementEviction(const Field& root);
PlacementEviction ReadPlacementEviction(const Field& root);
/// kInvalidArgument naming the field: an eviction is for one placement on one member.
Status CheckEvictionChange(const PlacementEviction& old, const PlacementEviction& now);
/// kInvalidArgument naming what of a placement may not change so (rule P2).
Status CheckPlacementChange(const Placement& old, const Placement& now);
/// Overrides and envelopes (override_readers.cc, envelope_readers.cc; rules P28, P29).
ResourceOverride ReadClusterResourceOverride(const Field& root);
ResourceOverride ReadResourceOverride(const Field& root);
ResourceEnvelope ReadClusterResourceEnvelope(const Field& root);
ResourceEnvelope ReadResourceEnvelope(const Field& root);
/// kInvalidArgument naming the field: an override stays with its placement.
Status CheckOverrideChange(const ResourceOverride& old, const ResourceOverride& now);
/// ConfigMap and Secret have no typed form: they are only checked.
void CheckConfigMap(const Field& root);
void CheckSecret(const Field& root);

/// What resource groups may have in a queue or cohort.
struct QuotaRules {
  bool limits_allowed = false;          // in a cohort, or with a parent
  const char* limits_message = "";      // Kueue's words when they are not
  bool lending_at_most_nominal = true;  // not for cohorts
};

/// spec.resourceGroups (quota_groups.cc).
std::vector<ResourceGroup> ReadResourceGroups(const Field& groups, const QuotaRules& rules);

/// True if the lowest level is the machine itself.
bool EndsAtHosts(const Topology& topology);

/// What a ClusterQueue's spec says about whom it may evict, how its flavors are tried, its checks,
/// its share and its concurrent admission (queue_policies.cc). queue's cohort, groups and strategy
/// must be read already.
void ReadQueuePolicies(const Field& spec, ClusterQueue* queue);
/// fairSharing.weight of a ClusterQueue, Cohort or LocalQueue; 1 if absent (KEP-1714).
double ReadFairWeight(const Field& fair_sharing);

/// Annotation muster.io/on-cluster-lost of a ClusterQueue: wait, fail, afterFence, or
/// afterTimeout:DURATION; wait if absent.
OnClusterLost ReadOnClusterLost(const Field& annotation);

/// Annotations muster.io/dispatch-mode, -step and -every, and muster.io/rebalance, -gain and -every
/// of a ClusterQueue (queue_extensions.cc).
void ReadQueueExtensions(const Field& annotations, ClusterQueue* queue);

/// A metav1.LabelSelector, checked.
LabelSelector ReadLabelSelector(const Field& selector);

/// The name in metadata, "" if absent.
std::string NameOf(const Field& root);
/// The namespace in metadata, "" if absent.
std::string NamespaceOf(const Field& root);

/// A configuration kind by its group and name ("ClusterQueue"); null if Muster keeps none such.
const KindInfo* FindKindOf(std::string_view group, std::string_view kind);
/// "v1" of "batch/v1" and of "v1".
std::string_view VersionOf(std::string_view api_version);
bool Serves(const KindInfo& info, std::string_view version);
/// "ClusterQueue is served in v1beta1 and v1beta2, not "v1"".
std::string NotServed(const KindInfo& info, std::string_view version);

StopPolicy ReadStopPolicy(const Field& field);

}  // namespace muster::shapes
