// PolicyDigest: a hash of the fields of a placement policy by which members are picked. Pure.
#pragma once

#include <string>

#include "schedd/model/placement.h"

namespace muster::propagation {

/// A hash of the policy; if it changes, members are picked anew. The number of clusters and their
/// names are not part of it: a change of these needs no new pick of the members that stay.
std::string PolicyDigest(const PlacementPolicy& policy);

}  // namespace muster::propagation
