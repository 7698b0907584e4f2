// Render: what one member is to have of a snapshot, with overrides applied (rule P28).
// Pure.
#pragma once

#include <string>
#include <vector>

#include "schedd/world/world_view.h"

namespace muster::propagation {

struct RenderedObject {
  ResourceRef ref;
  std::string envelope;
  std::string manifest;  // JSON text, final
  std::string hash;      // of it
};

struct Rendered {
  std::vector<RenderedObject> objects;  // in the order of the snapshot; without deleted ones
  /// Overrides that said something, by namespace and name: "ClusterResourceOverride/name" and
  /// "ResourceOverride/namespace/name".
  std::vector<std::string> overrides;
  std::string hash;   // of all objects
  std::string error;  // an override that cannot be applied: the sentence; there are no objects then
};

/// One snapshot for many members: what no override touches is hashed only once. Not thread-safe;
/// the configuration and the snapshot must outlive it.
///
/// Overrides are applied as KubeFleet does it: those of the cluster first, then those of the
/// object's namespace, by name; of each all rules whose members match, in order; the first Delete
/// ends it. An override of the cluster that names a Namespace is also for all that lies in it.
class Renderer {
 public:
  Renderer(const ConfigView& config, const ResourceSnapshot& snapshot);
  /// `with_manifests` false: texts are left out, which hashes already tell.
  Rendered For(const MemberCluster& member, bool with_manifests = true) const;
  /// No override names any of it.
  bool same_for_all() const;

 private:
  struct Part {
    const SelectedResource* resource = nullptr;
    std::string hash;                                // without overrides
    std::vector<const ResourceOverride*> overrides;  // that name it, in order
  };
  std::vector<Part> parts_;
};

/// The same for one member.
Rendered Render(const ConfigView& config, const ResourceSnapshot& snapshot,
                const MemberCluster& member);

}  // namespace muster::propagation
