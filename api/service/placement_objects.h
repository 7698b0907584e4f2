// What a placement has of configuration objects: what it selects, which members have it, and why
// no others do (rules P4, P18). Pure functions.
#pragma once

#include <string>
#include <vector>

#include "api/service/placement_parts.h"
#include "schedd/propagation/step/select.h"
#include "schedd/text/json.h"
#include "schedd/world/world_view.h"

namespace muster::api {

struct PlacedObjects {
  bool selects = false;  // its selectors are of such objects at all
  propagation::Selection selection;
  std::vector<SnapshotPtr> snapshots;  // by index
  std::vector<WorkPtr> works;          // of members that are picked, by name
  Verdict scheduled = Verdict::kTrue;
  /// What the sentence about it adds: why no more members, or what is not there; "" if nothing.
  std::string because;
  std::vector<std::string> unpicked;  // a sentence for each member that is missing

  /// Null if there is none.
  const ResourceSnapshot* Latest() const;
};

/// `jobs`: how many jobs it governs.
PlacedObjects LookAtObjects(const WorldView& view, const Placement& placement, std::size_t jobs);

/// KubeFleet's selectedResources, of the latest revision or, before the first, of what is selected
/// now; namespaces first, then by group, kind and name.
json::array SelectedObjects(const PlacedObjects& objects);
/// [{index, hash, creationTimestamp, clusters[]}], the oldest first: revisions that are kept, and
/// the members that were told of each last.
json::array ResourceRevisions(const PlacedObjects& objects);

}  // namespace muster::api
