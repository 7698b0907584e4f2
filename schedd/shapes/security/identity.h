// What a manifest may not say of identity and place (rule U72): service accounts of others,
// machines by name, schedulers, other namespaces, and the keys that Muster and Kueue keep for
// themselves.
//
// Pure.
#pragma once

#include <string_view>

#include "schedd/model/tenancy.h"
#include "schedd/shapes/parts/field.h"

namespace muster::shapes {

/// Where a manifest is judged.
struct TenantPlace {
  std::string_view ns;              // of the job
  const NamespaceTenancy& tenancy;  // of that namespace
  /// The level is privileged: a pod may name its machine and its scheduler.
  bool privileged = false;
};

/// Records a problem at every field of a job's manifest that its tenants may not set: everywhere in
/// metadata, and in every pod template of a manifest of this kind ("Job").
void CheckIdentity(const Field& manifest, std::string_view kind, const TenantPlace& place);

/// Records a problem at each key of these labels or annotations that users may not set.
/// `of_template`: they are those of a pod template, not of the job's own object.
void CheckReservedLabels(const Field& labels);
void CheckReservedAnnotations(const Field& annotations, bool of_template);

}  // namespace muster::shapes
