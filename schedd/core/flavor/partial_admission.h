// Partial admission (KEP-420, rule A34): the largest pod counts between minimum and declared count
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

/// True if the job may run with fewer pods: some pod set has a minimum below its count, the job is
/// not elastic, and the gate is on.
bool MayBePartial(const JobRecord& job, const AdmissionSettings& settings);

/// Binary search over the number of pods to leave out; all pod sets shrink in proportion. `fits`
/// gets one count per pod set. The search assumes that more pods never fit better. Returns the
/// counts of the last call that was true; nullopt if no pod can be left out or even the minimum
/// does not fit.
std::optional<std::vector<std::int32_t>> LargestFittingCounts(
    const PodSets& pod_sets, const std::function<bool(std::span<const std::int32_t>)>& fits);

}  // namespace muster::core
