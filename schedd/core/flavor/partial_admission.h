// Partial admission (KEP-420, rule A34): the largest pod counts between minimum and declared
// that fit. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "schedd/model/admission_settings.h"
#include "schedd/model/job.h"

namespace muster::core {

/// True if the job may run with fewer pods: some pod set has a minimum below its count, it is not
/// elastic, and the gate is on.
bool MayBePartial(const JobRecord& job, const AdmissionSettings& settings);

/// Tries counts by binary search, all pod sets shrinking in proportion. `fits` gets one count per
/// pod set; that more pods never fit better is assumed. The counts of the last call that said yes
/// are the result; nullopt if nothing can be given up or even the minimum does not fit.
std::optional<std::vector<std::int32_t>> LargestFittingCounts(
    const PodSets& pod_sets, const std::function<bool(std::span<const std::int32_t>)>& fits);

}  // namespace muster::core
