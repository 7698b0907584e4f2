// The checks of `muster doctor` that need the model: I3, I4 and I10 from the jobs that hold quota.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "schedd/model/admission_settings.h"
#include "schedd/store/store.h"

namespace muster::doctor {

/// Queues and cohorts that use more than their quota and what they may borrow (I3; rule A25), in a
/// tree whose quotas were never edited.
std::vector<std::string> OverQuota(const StoredWorld& world, const AdmissionSettings& settings);
/// The same in a tree with a quota that was edited: it may have been lowered, and drains.
std::vector<std::string> OverEditedQuota(const StoredWorld& world,
                                         const AdmissionSettings& settings);
/// Stored amounts that differ from those of the admitted jobs (I4).
std::vector<std::string> WrongUsage(const StoredWorld& world, const AdmissionSettings& settings);
/// Jobs that hold quota for some of their pod sets only (I10).
std::vector<std::string> PartialGangs(const StoredWorld& world, const AdmissionSettings& settings);

}  // namespace muster::doctor
