// Admissions: the record that follows from what a cycle decided of a workload
// (core::PlannedAdmission, core::UnadmittedWorkload): it reserves quota, goes on to its member, or
// waits. Pure; the engine, the simulator and the conformance cases carry a plan out with these.
#pragma once

#include <string>

#include "schedd/core/plan/plan.h"
#include "schedd/lifecycle/job_changes.h"
#include "schedd/model/queues.h"

namespace muster::changes {

/// Quota reserved, a member chosen, and why that one. `queue` says which checks it must pass. What
/// a stand-in got (a variant: an id other than the job's) is the job's. GoOn says whether it is
/// dispatched at once.
Draft Reserved(const JobRecord& job, const core::PlannedAdmission& admit, const ClusterQueue& queue,
               const AdmissionSettings& settings, WallTime now);
/// A second pass decided what was open of its placement.
Draft Completed(const JobRecord& job, const core::PlannedAdmission& admit);
/// A reserved record begins its next attempt if nothing of its admission is open any more. False if
/// something is.
bool GoOn(JobRecord* reserved, const AdmissionSettings& settings, WallTime now);
/// An elastic job's larger slice was admitted and takes the place of the one that it has. Sets
/// `told` to the sentence of that one's end.
Draft Grown(const JobRecord& job, const core::PlannedAdmission& admit, WallTime now,
            std::string* told);
/// It was looked at and waits. Null if the record says so already.
Draft Waiting(const JobRecord& job, const core::UnadmittedWorkload& waiting,
              const AdmissionSettings& settings, WallTime now);

}  // namespace muster::changes
