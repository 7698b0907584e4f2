// From what a manifest asks for to what counts against quota, once it is known where the job goes:
// RuntimeClass overhead, LimitRange defaults and bounds, excluded resources, transformations
// (rule A5). Done at submission, and again while it waits and one of these objects changes.
//
// Pure.
#pragma once

#include <string>

#include "schedd/model/admission_settings.h"
#include "schedd/model/config.h"
#include "schedd/shapes/kinds/shape.h"

namespace muster::shapes {

/// Sets requests and node_requests of every pod set of a parsed job of namespace `ns`. Returns why
/// the job may not be admitted so ("" if nothing is wrong): what a pod asks for is above its limit
/// or outside a LimitRange. It waits with that sentence (QuotaReserved=False, Misconfigured).
std::string PrepareRequests(const ConfigView& config, const AdmissionSettings& settings,
                            const std::string& ns, ParsedJob* job);

}  // namespace muster::shapes
