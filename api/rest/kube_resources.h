// KubeResource: what the group, version and plural of a Kubernetes path stand for: a configuration
// kind, a job shape, or Kueue's Workload, which every job has. Discovery answers from the same
// list. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/model/job.h"
#include "schedd/shapes/config/queue_objects.h"

namespace muster::rest {

struct KubeResource {
  std::string group, version, plural, kind;
  bool namespaced = true;
  const shapes::KindInfo* config = nullptr;  // null for jobs
  std::optional<ShapeKind> shape;            // unset for configuration kinds
  std::vector<std::string_view> short_names;

  bool is_workload() const { return shape == ShapeKind::kWorkload; }
  /// True if controllers may write its status.
  bool has_written_status() const {
    return is_workload() ||
           (config != nullptr && config->status == shapes::StatusWriter::kController);
  }
  /// True for kinds that Kubernetes itself has, false for those that are defined on top of it.
  bool is_built_in() const {
    return group.empty() || group == "batch" || group == "node.k8s.io" ||
           group == "rbac.authorization.k8s.io";
  }
  /// "batch/v1", "v1".
  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
};

/// Every resource in every served version, in the order of discovery.
const std::vector<KubeResource>& KubeResources();
/// Null if the resource is not served. `group` "" is the core group.
const KubeResource* FindKubeResource(std::string_view group, std::string_view version,
                                     std::string_view plural);

}  // namespace muster::rest
