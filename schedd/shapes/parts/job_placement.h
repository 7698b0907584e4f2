// What jobs, queues, namespaces and members say of placement, in labels and annotations. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/model/job.h"
#include "schedd/shapes/parts/field.h"

namespace muster::shapes {

/// What a job's labels and annotations say of its placement; null if nothing.
JobPlacementPtr ReadJobPlacement(const Field& metadata);
/// True of the labels that are fields of a job: placements do not see them.
bool IsQueueingLabel(std::string_view key);

/// How long the name of a placement may be.
inline constexpr std::size_t kPlacementNameBytes = 63;
/// Annotation muster.io/placement of a job, queue or namespace; "" if absent.
std::string ReadPlacementName(const Field& annotations);
/// Annotation muster.io/datasets of a job or member: names, sorted.
std::vector<std::string> ReadDatasets(const Field& annotations, std::size_t most);

bool IsMemberName(std::string_view name);
inline constexpr char kMemberNameRule[] =
    "must be the name of a member cluster: a DNS subdomain of at most 63 bytes";

}  // namespace muster::shapes
