// What the labels and annotations of jobs, queues, namespaces and member clusters say about
// placement. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/model/job.h"
#include "schedd/shapes/parts/field.h"

namespace muster::shapes {

/// The placement fields of a job's metadata; null if it has none.
JobPlacementPtr ReadJobPlacement(const Field& metadata);
/// True for the labels that are fields of a job (queue, priority class, maximum execution time):
/// selectors of placements do not see them.
bool IsQueueingLabel(std::string_view key);

/// The longest name of a placement.
inline constexpr std::size_t kPlacementNameBytes = 63;
/// The annotation muster.io/placement of a job, queue or namespace; "" if absent.
std::string ReadPlacementName(const Field& annotations);
/// The annotation muster.io/datasets of a job or member cluster: names, sorted, at most `most`.
std::vector<std::string> ReadDatasets(const Field& annotations, std::size_t most);

bool IsMemberName(std::string_view name);
inline constexpr char kMemberNameRule[] =
    "must be the name of a member cluster: a DNS subdomain of at most 63 bytes";

}  // namespace muster::shapes
