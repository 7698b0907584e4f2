// ClusterView and PlacedCounts: the facts about member clusters on which decisions are based. Plain
// values.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "schedd/model/config.h"
#include "schedd/model/job.h"

namespace muster::core {

/// A member cluster with its free amounts: allocatable less what its live attempts and the pods of
/// others hold.
struct ClusterView {
  MemberCluster member;
  ResourceList free;
  /// Jobs placed there whose pods are not known to be bound to machines yet: they will take part of
  /// what MemberCluster::machines shows as free. Null: none.
  std::shared_ptr<const std::vector<JobPtr>> starting;
};

/// The number of placed jobs by placement and member, only of placements with spread constraints.
using PlacedCounts = std::map<PlacementTable::Key, std::map<std::string, std::int32_t>>;

}  // namespace muster::core
