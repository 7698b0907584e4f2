// Partition entries: the queue entries of a batch script that may start in any of several
// partitions (`-p a,b`, rule B29), beside its own in the partition of its record. Pure.
#pragma once

#include <set>
#include <vector>

#include "schedd/model/config.h"
#include "schedd/model/job.h"

namespace muster {

/// True for a batch script that named several partitions.
bool NamesPartitions(const JobRecord& job);
/// The same, unless it is the record of an array: for its tasks ArrayTasks has entries.
bool HasPartitions(const JobRecord& job);
/// One entry for each further partition that could start the waiting job by its state and limits
/// and that feeds another ClusterQueue than those before it; none for a job that does not wait.
/// Their slots (SlotOf) are the places in the list, from 1. Of an array's record: that record, as
/// it is in each of them. `open_gates`: the slots of entries that may preempt.
std::vector<JobPtr> PartitionEntriesOf(const JobRecord& job, const ConfigView& config,
                                       const std::set<std::size_t>& open_gates);

}  // namespace muster
