// Volumes of a pod: what is written below its directory and what is bound where. Pure.
#pragma once

#include <map>
#include <string>

#include "backends/local/pods/pod_builder.h"
#include "backends/local/pods/pod_users.h"

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

/// Where a volume is.
struct VolumePlace {
  /// Its directory: one for every container, or, of a Secret, ConfigMap and their like, one for
  /// each user that mounts it (PodUser::uid), which nobody else may read.
  std::map<std::int64_t, std::string> of_user;
  std::string shared;   // "" if each user has its own
  bool on_host = false;  // a path of the host, not of the pod
  bool create = false;   // made as the container's user if it is not there
  /// For a container of this user.
  const std::string& For(std::int64_t uid) const;
};
using VolumePlaces = std::map<std::string, VolumePlace>;

/// Adds the pod's volumes to `built`; the result is by name.
Result<VolumePlaces> BuildVolumes(const PodWish& wish, const PodContext& context,
                                  const PodFields& fields, const PodUsers& users, BuiltPod* built);

}  // namespace muster::local
