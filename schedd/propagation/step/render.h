// Render: the objects of a snapshot as one member should have them, with overrides applied (rule
// P28). Pure.
#pragma once

#include <string>
#include <vector>

#include "schedd/world/world_view.h"

namespace muster::propagation {

struct RenderedObject {
  ResourceRef ref;
  std::string envelope;
  /// JSON text, with overrides applied.
  std::string manifest;
  /// Of the manifest.
  std::string hash;
};

/// All objects of a snapshot as one member should have them.
struct RenderedSnapshot {
  /// In the order of the snapshot; objects that an override deletes are left out.
  std::vector<RenderedObject> objects;
  /// Overrides of which a rule matched, by namespace and name: "ClusterResourceOverride/name" and
  /// "ResourceOverride/namespace/name".
  std::vector<std::string> overrides;
  /// Of all objects.
  std::string hash;
  /// A sentence if an override cannot be applied; there are no objects then.
  std::string error;
};

/// Renders one snapshot for many members: objects without overrides are hashed only once. Not
/// thread-safe; the configuration and the snapshot must outlive it.
///
/// Overrides are applied as KubeFleet does: cluster-scoped overrides first, then those of the
/// object's namespace, by name; of each override all rules that match the member, in order; the
/// first Delete ends it. A cluster-scoped override that names a Namespace is also for all objects
/// in it. Objects inside envelopes are treated as if they were selected themselves.
class Renderer {
 public:
  Renderer(const ConfigView& config, const ResourceSnapshot& snapshot);
  /// `with_manifests` false: the manifests are left out, for a caller that only compares hashes.
  RenderedSnapshot For(const MemberCluster& member, bool with_manifests = true) const;
  /// True if no override names any of the objects: every member gets the same.
  bool same_for_all() const;

 private:
  struct Part {
    const SelectedResource* resource = nullptr;
    // Without overrides.
    std::string hash;
    // Those that name the object, in order.
    std::vector<const ResourceOverride*> overrides;
  };
  std::vector<Part> parts_;
};

/// Renders a snapshot for one member.
RenderedSnapshot Render(const ConfigView& config, const ResourceSnapshot& snapshot,
                        const MemberCluster& member);

}  // namespace muster::propagation
