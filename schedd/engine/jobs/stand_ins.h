// Stand-ins: entries of a ClusterQueue's order that are no jobs of their own. The larger slice that
// an elastic job waits for is one (KEP-77); so are the variants of a job that tries each flavor for
// itself (KEP-8691). They are nominated, ordered, parked and admitted like any workload, and what
// is decided of them happens to their job. They follow from its record and the configuration, so
// nothing of them is stored.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "schedd/model/admission_settings.h"
#include "schedd/model/config.h"
#include "schedd/model/job.h"

namespace muster {

/// The id of one of a job's stand-ins, below limits::kConcurrentFlavors + 1: negative, so it is
/// never a job's, and always the same. Slot 0 is the slice, slot n the variant of the n-th flavor.
JobId StandInId(JobId job, std::size_t slot);
inline bool IsStandIn(JobId id) { return id.value < 0; }
/// The job that a stand-in stands in for; a job's id gives itself.
JobId OwnerOf(JobId id);
std::size_t SlotOf(JobId stand_in);

/// The entries that a job's queue is to have for it as its record is now; empty for most.
/// `open_gates`: the slots of variants that may preempt.
std::vector<JobPtr> StandInsOf(const JobRecord& job, const ConfigView& config,
                               const std::set<std::size_t>& open_gates);
/// True if a queue that has `a` need not hear of `b`.
bool SameEntry(const JobRecord& a, const JobRecord& b);

}  // namespace muster
