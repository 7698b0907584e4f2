// From the REST form of a batch script to its manifest (rules B2 to B6). Pure.
#pragma once

#include <string_view>

#include "schedd/base/result.h"
#include "schedd/base/time.h"
#include "schedd/text/json.h"

namespace muster::shapes {

/// The REST form {"script":..., "name":..., "queue":..., "resources":{...}, ...} as a BatchScript
/// manifest (apiVersion muster.io/v1). The script's own directives apply where the form has no
/// field of its own. schedd/shapes/README.md lists the fields; an unknown one is refused. `now`
/// resolves points in time that are in Slurm's notation ("now+1hour", "16:00").
Result<json::value> BatchScriptManifest(const json::object& request, std::string_view ns,
                                        WallTime now = {});

/// Annotation of a batch script: the partitions among which the service chooses, "a,b".
inline constexpr std::string_view kPartitionsKey = "muster.io/partitions";

}  // namespace muster::shapes
