// The containers of a job's pods, by name. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schedd/shapes/kinds/shape.h"

namespace muster::shapes {

/// For each pod set by its name: the init containers, then the containers, as the manifest lists
/// them. Containers that a member's controllers add are not among them.
using ContainersBySet = std::map<std::string, std::vector<std::string>>;
ContainersBySet ContainersOf(const JobRecord& job, const json::value& manifest);

}  // namespace muster::shapes
