// How an elastic job changes its size: at once while it waits or when it shrinks, through a further
// workload slice when a job that holds quota grows (KEP-77, rule A55). Pure; each function changes
// the record it is given.
#pragma once

#include <string>

#include "schedd/model/job.h"

namespace muster {

/// Null unless the size was changed after the submission.
const ElasticScale* ScaleOf(const JobRecord& job);
/// The size that the user asked for last; null: as submitted.
const JobSize* WantedSize(const JobRecord& job);

/// Gives the job's one pod set the pods of its scale; a record without a scale stays as it is.
/// Called for records that are read from a store.
void TakeScaledPods(JobRecord* job);

/// Changes the size at once: the pods and, if the job holds quota, its admission; a slice that
/// waits is dropped. For jobs that do not run yet, and to shrink. `submitted` is the size in the
/// job's manifest.
void ChangeSize(JobRecord* job, const JobSize& submitted, const JobSize& size);
/// A running job should grow: a further slice waits from now on, or the slice that waits changes
/// and keeps its uid and its place in the queue.
void WantSlice(JobRecord* job, const JobSize& submitted, PendingSlice slice);
/// The waiting slice got `admission`, which includes what the old slice held: the old slice is
/// Finished, WorkloadSliceReplaced. Returns the sentence of its end.
std::string TakeOverSlice(JobRecord* job, AdmissionPtr admission, WallTime now);
/// The job holds no quota any more: the size of the waiting slice becomes the job's own or, if the
/// job has ended, is forgotten.
void EndSlices(JobRecord* job);

/// The waiting slice as an entry of its ClusterQueue: a record of its own with the given id, which
/// replaces the job's own slice. `job` must have a waiting slice.
JobRecord SliceRecord(const JobRecord& job, JobId id);

}  // namespace muster
