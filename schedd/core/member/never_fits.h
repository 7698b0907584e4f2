// NeverFits: whether some member could hold a job if nothing else ran there, all its machines were
// ready and no flavor, label, taint or placement stood in the way. What is not known of a member
// speaks for it: never is said only where sizes say so. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "schedd/core/member/cluster_view.h"

namespace muster::core {

/// "" if a member may hold it, or none is known. Else the sentence, with the nearest member: "no
/// member cluster can ever hold it as they are: the nearest is east, which has 32 of the 64 cpu
/// that it needs". `pinned`: the only member that it may run on; "" for any. A job that may start
/// with fewer pods is judged by the fewest.
std::string NeverFits(std::span<const ClusterView> clusters, const PodSets& pod_sets,
                      std::string_view pinned);

}  // namespace muster::core
