// The configuration objects of a placement: which it selects, which members have them, and why no
// other members do (rules P4, P18). Pure functions.
#pragma once

#include <string>
#include <vector>

#include "api/service/placement_parts.h"
#include "schedd/propagation/step/select.h"
#include "schedd/text/json.h"
#include "schedd/world/world_view.h"

namespace muster::api {

struct PlacedObjects {
  bool selects = false;  // the placement has selectors of configuration objects
  propagation::Selection selection;
  std::vector<SnapshotPtr> snapshots;  // by index
  std::vector<WorkPtr> works;          // of the picked members, by name
  Verdict scheduled = Verdict::kTrue;
  /// The end of the sentence about `scheduled`: why no more members are picked, or which selected
  /// object does not exist; "" if there is nothing to add.
  std::string because;
  std::vector<std::string> unpicked;  // a sentence for each member that is missing

  /// The newest snapshot; null if there is none.
  const ResourceSnapshot* Latest() const;
};

/// `jobs`: how many jobs the placement governs.
PlacedObjects LookAtObjects(const WorldView& view, const Placement& placement, std::size_t jobs);

/// KubeFleet's selectedResources: those of the latest snapshot or, before the first, those that the
/// selectors match now. Namespaces come first, then the order is by group, kind and name.
json::array SelectedObjects(const PlacedObjects& objects);
/// [{index, hash, creationTimestamp, clusters[]}], the oldest first: the revisions that are kept,
/// each with the members whose work was last made from it. The field is Muster's own.
json::array ResourceRevisions(const PlacedObjects& objects);

}  // namespace muster::api
