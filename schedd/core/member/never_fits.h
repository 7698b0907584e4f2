// NeverFits: whether some member could hold a job if nothing else ran there, all its machines were
// ready, and no flavor, label, taint or placement stood in the way (rule P14). Where facts about a
// member are missing it counts as large enough: only sizes lead to "never". Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "schedd/core/member/cluster_view.h"

namespace muster::core {

/// "" if a member may hold the job, or no member is known. Else the sentence, with the nearest
/// member: "no member cluster can ever hold it as they are: the nearest is east, which has 32 of
/// the 64 cpu that it needs". `pinned`: the only member that the job may run on; "" for any. A job
/// that may start with fewer pods is judged by its minimum.
std::string NeverFits(std::span<const ClusterView> clusters, const PodSets& pod_sets,
                      std::string_view pinned);

}  // namespace muster::core
