// Volumes of a pod: what is written below its directory and what is bound where. Pure.
#pragma once

#include <map>
#include <string>

#include "backends/local/pods/pod_builder.h"

namespace muster::local {

/// Values of metadata.* and status.* that a pod may ask for.
class PodFields {
 public:
  PodFields(const PodWish& wish, const PodContext& context);
  /// fieldRef.fieldPath. Error: not one that Kubernetes or this backend knows.
  Result<std::string> Field(const std::string& path) const;
  /// resourceFieldRef of `container` (its manifest), with its divisor.
  Result<std::string> Resource(const json::object& reference, const json::object& container) const;

 private:
  const PodWish& wish_;
  const PodContext& context_;
  LabelMap labels_, annotations_;
};

/// The data of a ConfigMap or Secret, decoded; null if the attempt has no such object.
Result<std::map<std::string, std::string>> DataOf(const PodContext& context,
                                                  const std::string& kind, const std::string& name);
bool HasDependent(const PodContext& context, const std::string& kind, const std::string& name);

/// Adds the pod's volumes to `built`; the result maps each volume's name to its host directory.
Result<std::map<std::string, std::string>> BuildVolumes(const PodWish& wish,
                                                        const PodContext& context,
                                                        const PodFields& fields, BuiltPod* built);

}  // namespace muster::local
