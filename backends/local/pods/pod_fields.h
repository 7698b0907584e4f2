// PodFields: the values of a pod's own fields and of its containers' resources, for variables and
// volumes that refer to them (the downward API). Pure.
#pragma once

#include <string>

#include "backends/local/pods/pod_context.h"
#include "backends/local/pods/pod_wish.h"
#include "schedd/base/result.h"

namespace muster::local {

/// Of one pod. `wish` and `context` must outlive it.
class PodFields {
 public:
  PodFields(const PodWish& wish, const PodContext& context);
  /// fieldRef.fieldPath. An error for fields that Kubernetes or this backend does not know.
  Result<std::string> Field(const std::string& path) const;
  /// resourceFieldRef of `container` (its manifest), divided by its divisor.
  Result<std::string> Resource(const json::object& reference, const json::object& container) const;

 private:
  const PodWish& wish_;
  const PodContext& context_;
  LabelMap labels_, annotations_;
};

}  // namespace muster::local
