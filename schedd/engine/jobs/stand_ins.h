// Stand-ins: entries of a ClusterQueue's order that are not jobs. One kind is the larger slice that
// an elastic job waits for (KEP-77); another kind are the variants of a job whose queue tries
// each flavor separately (KEP-8691); the third kind are the entries of a batch script in its other
// partitions (partition_entries.h); the fourth, which ArrayTasks keeps, are waiting tasks of
// arrays. They are nominated, ordered, parked and admitted like any
// workload, and what is decided about them happens to their job. They follow from the job's record
// and the configuration, so they are not stored. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "schedd/model/admission_settings.h"
#include "schedd/model/config.h"
#include "schedd/model/job.h"

namespace muster {

/// A job has stand-ins with slots 0 to kStandInSlots - 1.
inline constexpr std::size_t kStandInSlots = 128;
/// The id of one of the job's stand-ins. It is negative, so it is never the id of a job, and it is
/// always the same for a job and slot. `slot`: 0 is the slice, n the variant of the n-th flavor or
/// the entry in the n-th partition; of an array, its place in the windows of its partitions.
JobId StandInId(JobId job, std::size_t slot);
/// True for ids that StandInId makes.
inline bool IsStandIn(JobId id) { return id.value < 0; }
/// The job that a stand-in belongs to; the id of a job is returned as it is.
JobId OwnerOf(JobId id);
std::size_t SlotOf(JobId stand_in);

/// The stand-ins that belong to this record; none for most jobs. `open_gates`: the slots of
/// variants that may preempt.
std::vector<JobPtr> StandInsOf(const JobRecord& job, const ConfigView& config,
                               const std::set<std::size_t>& open_gates);
/// True if a queue that has `a` does not need to get `b`.
bool SameEntry(const JobRecord& a, const JobRecord& b);

}  // namespace muster
