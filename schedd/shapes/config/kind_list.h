// The list of the kinds of configuration objects: one line per entry (object_kinds.h), and the
// declaration of each. The file that defines an entry includes this one. Internal to
// schedd/shapes/config.
//
// The list is explicit because a static library drops a source that nothing refers to: entries that
// registered themselves could be missing from a program.
#pragma once

#include "schedd/shapes/config/object_kinds.h"

/// In the order in which a set of objects is applied: what an object names comes before it.
#define MUSTER_OBJECT_KINDS(ENTRY)     \
  ENTRY(kNamespaceKind)                \
  ENTRY(kResourceFlavorKind)           \
  ENTRY(kClusterQueueKind)             \
  ENTRY(kCohortKind)                   \
  ENTRY(kLocalQueueKind)               \
  ENTRY(kWorkloadPriorityClassKind)    \
  ENTRY(kTopologyKind)                 \
  ENTRY(kAdmissionCheckKind)           \
  ENTRY(kLimitRangeKind)               \
  ENTRY(kRuntimeClassKind)             \
  ENTRY(kMemberClusterKind)            \
  ENTRY(kConfigMapKind)                \
  ENTRY(kSecretKind)                   \
  ENTRY(kClusterResourceEnvelopeKind)  \
  ENTRY(kResourceEnvelopeKind)         \
  ENTRY(kClusterResourceOverrideKind)  \
  ENTRY(kResourceOverrideKind)         \
  ENTRY(kClusterResourcePlacementKind) \
  ENTRY(kResourcePlacementKind)        \
  ENTRY(kClusterDisruptionBudgetKind)  \
  ENTRY(kDisruptionBudgetKind)         \
  ENTRY(kClusterPlacementEvictionKind) \
  ENTRY(kPlacementEvictionKind)        \
  ENTRY(kClusterRoleKind)              \
  ENTRY(kRoleKind)                     \
  ENTRY(kClusterRoleBindingKind)       \
  ENTRY(kRoleBindingKind)              \
  ENTRY(kAccessTokenKind)

namespace muster::shapes {

#define MUSTER_DECLARE_ENTRY(entry) extern const KindInfo entry;
MUSTER_OBJECT_KINDS(MUSTER_DECLARE_ENTRY)
#undef MUSTER_DECLARE_ENTRY

}  // namespace muster::shapes
