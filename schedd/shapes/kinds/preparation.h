// From the requests in a manifest to the amounts that count against quota: RuntimeClass overhead,
// LimitRange defaults and bounds, excluded resources, transformations (rule A5). It is done at the
// submission, and again for a waiting job when one of these objects has changed.
//
// Pure.
#pragma once

#include <string>

#include "schedd/model/admission_settings.h"
#include "schedd/model/config.h"
#include "schedd/shapes/kinds/shape.h"

namespace muster::shapes {

/// Sets requests and node_requests of every pod set of a parsed job of namespace `ns`. Returns the
/// reason why the job may not be admitted like this, or "": a request of a pod is above its limit
/// or outside a LimitRange. The job then waits with that sentence (QuotaReserved=False,
/// Misconfigured).
std::string PrepareRequests(const ConfigView& config, const AdmissionSettings& settings,
                            const std::string& ns, ParsedJob* job);

}  // namespace muster::shapes
