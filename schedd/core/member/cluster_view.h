// ClusterView and PlacedCounts: what a decision knows of the member clusters. Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "schedd/model/config.h"
#include "schedd/model/job.h"

namespace muster::core {

/// A member cluster with what is still free on it: allocatable minus what its live attempts and
/// pods that are not Muster's hold.
struct ClusterView {
  MemberCluster member;
  ResourceList free;
  /// Jobs placed there whose pods are not known to be bound to machines yet: they will take some of
  /// what MemberCluster::machines shows as free. Null: none.
  std::shared_ptr<const std::vector<JobPtr>> starting;
};

/// How many placed jobs each placement has on each member: of placements with spread constraints.
using PlacedCounts = std::map<PlacementTable::Key, std::map<std::string, std::int32_t>>;

}  // namespace muster::core
