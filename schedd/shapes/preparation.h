// From what a manifest asks for to what counts against quota, once it is known where the job goes:
// RuntimeClass overhead, LimitRange defaults and bounds, excluded resources, transformations
// (kueue.md 2.15). Done once, at submission.
//
// Pure.
#pragma once

#include <string>

#include "schedd/base/result.h"
#include "schedd/model/admission_settings.h"
#include "schedd/model/config.h"
#include "schedd/shapes/shape.h"

namespace muster::shapes {

/// Sets requests and node_requests of every pod set of a parsed job of namespace `ns`. Errors
/// (kInvalidArgument): what a pod would ask for is outside a LimitRange of the namespace, or above
/// its limit.
Status PrepareRequests(const ConfigView& config, const AdmissionSettings& settings,
                       const std::string& ns, ParsedJob* job);

}  // namespace muster::shapes
