// From the REST form of a batch script to its manifest, and the text of --array (rules B2 to B6,
// B15).
//
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

/// "0-15,20:2" -> task ids in ascending order. Errors: malformed text, a limit on running tasks
/// ("%4"), more than limits::kBatchJobs tasks.
Result<std::vector<std::int32_t>> ParseArraySpec(std::string_view spec);

}  // namespace muster::shapes
