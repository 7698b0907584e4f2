// How an elastic job changes its size: at once while it waits or when it shrinks, through a further
// workload slice when one that holds quota grows (KEP-77, rule A55). Pure; each function
// changes the record it is given.
#pragma once

#include <string>

#include "schedd/model/job.h"

namespace muster {

/// Null unless the size was changed after the submission.
const ElasticScale* ScaleOf(const JobRecord& job);
/// The size that its user asked for last; nullptr: as submitted.
const JobSize* WantedSize(const JobRecord& job);

/// Makes its one pod set have the pods of its scale; a record without scale stays as it is. What
/// reads records of a store calls this.
void TakeScaledPods(JobRecord* job);

/// The record's size changes at once: pods and, if it holds quota, what is reserved for them; a
/// slice that waited is forgotten. For jobs that do not run yet, and to shrink. `submitted` is the
/// size that the job's manifest had.
void ChangeSize(JobRecord* job, const JobSize& submitted, const JobSize& size);
/// A job that runs is to grow: a further slice waits from now on, or the one that waits changes and
/// keeps its uid and its place in the queue.
void WantSlice(JobRecord* job, const JobSize& submitted, PendingSlice slice);
/// The waiting slice got `admission`, which holds what the old slice held as well: that one is
/// Finished, WorkloadSliceReplaced. Returns the sentence of its end.
std::string TakeOverSlice(JobRecord* job, AdmissionPtr admission, WallTime now);
/// Nothing holds quota any more: the size that waited becomes the job's own (or, if it has ended,
/// is forgotten).
void EndSlices(JobRecord* job);

/// The waiting slice as an entry of its ClusterQueue: a record of its own with the id that is
/// given, which replaces the job's own slice. `job` must have one.
JobRecord SliceRecord(const JobRecord& job, JobId id);

}  // namespace muster
