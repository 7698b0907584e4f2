#include "schedd/lifecycle/admissions.h"

#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/eviction_lifecycle.h"
#include "schedd/model/scale_lifecycle.h"

namespace muster::changes {

Draft Reserved(const JobRecord& job, const core::PlannedAdmission& admit, const ClusterQueue& queue,
               const AdmissionSettings& settings, WallTime now) {
  Draft draft = Reserved(job, admit.admission, admit.cluster,
                         RequiredChecks(queue, admit.admission.get()), settings, now);
  if (admit.job->id != job.id) {
    ChangeState(draft.get(), [&](AdmissionState* state) {
      state->allowed_flavors = StateOf(*admit.job).allowed_flavors;
    });
  }
  SayWhyItRunsThere(draft.get(), admit.placed, now);
  return draft;
}

Draft Completed(const JobRecord& job, const core::PlannedAdmission& admit) {
  auto draft = std::make_shared<JobRecord>(job);
  draft->admission = admit.admission;
  ChangeState(draft.get(), [](AdmissionState* state) { state->unhealthy_nodes.clear(); });
  return draft;
}

bool GoOn(JobRecord* reserved, const AdmissionSettings& settings, WallTime now) {
  if (reserved->state != JobState::kReserved || IsTrue(*reserved, "Evicted")) return false;
  if (!AllChecksReady(*reserved) || TopologyIsPending(*reserved)) return false;
  SyncAdmitted(reserved, settings, now);
  if (!IsTrue(*reserved, "Admitted")) return false;
  Dispatch(reserved, now);
  return true;
}

Draft Grown(const JobRecord& job, const core::PlannedAdmission& admit, WallTime now,
            std::string* told) {
  auto draft = std::make_shared<JobRecord>(job);
  *told = TakeOverSlice(draft.get(), admit.admission, now);
  if (draft->state == JobState::kRunning) draft->message.clear();
  return draft;
}

Draft Waiting(const JobRecord& job, const core::UnadmittedWorkload& waiting,
              const AdmissionSettings& settings, WallTime now) {
  Draft draft = Waiting(job, waiting.reason, waiting.message, settings, now);
  if (draft != nullptr && waiting.preemption_gated) MarkPreemptionGated(draft.get(), now);
  return draft;
}

}  // namespace muster::changes
