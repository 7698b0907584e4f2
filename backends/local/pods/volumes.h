// BuildVolumes: the volumes of a pod: what is written below its directory, and where each volume
// is. Pure.
#pragma once

#include <map>
#include <string>

#include "backends/local/pods/pod_builder.h"
#include "backends/local/pods/pod_fields.h"
#include "backends/local/pods/pod_users.h"

namespace muster::local {

/// The data of a ConfigMap or Secret, decoded. kInvalidArgument if the attempt has no such object.
Result<std::map<std::string, std::string>> DataOf(const PodContext& context,
                                                  const std::string& kind, const std::string& name);
bool HasDependent(const PodContext& context, const std::string& kind, const std::string& name);

/// The place of a volume.
struct VolumePlace {
  /// Directories by user (PodUser::uid): a Secret, ConfigMap or the like has a copy for each user
  /// that mounts it, which no other user may read.
  std::map<std::int64_t, std::string> of_user;
  std::string shared;    // one directory for all containers; "": each user has a copy
  bool on_host = false;  // a path of the host, not of the pod
  bool create = false;   // created as the container's user if it is absent
  /// The directory for a container of this user.
  const std::string& For(std::int64_t uid) const;
};
using VolumePlaces = std::map<std::string, VolumePlace>;

/// Adds the pod's volumes to `built`; the result is by name.
Result<VolumePlaces> BuildVolumes(const PodWish& wish, const PodContext& context,
                                  const PodFields& fields, const PodUsers& users, BuiltPod* built);

}  // namespace muster::local
