// All that a record says of members' queues is in its check muster.io/member-queues: pending while
// a member is asked, ready when one has admitted the job.
#include "schedd/model/member_queues.h"

#include <algorithm>

#include "schedd/model/admission_lifecycle.h"

namespace muster {

const AdmissionCheckStatus* MemberQueuesCheck(const JobRecord& job) {
  const auto& checks = StateOf(job).checks;
  const auto found = std::find_if(
      checks.begin(), checks.end(),
      [](const AdmissionCheckStatus& check) { return check.name == kMemberQueuesCheck; });
  return found == checks.end() ? nullptr : &*found;
}

bool AsksMembers(const JobRecord& job) {
  const AdmissionCheckStatus* check = MemberQueuesCheck(job);
  return check != nullptr && job.state == JobState::kReserved && !IsTrue(job, "Evicted") &&
         check->state == CheckState::kPending;
}

bool OtherChecksReady(const JobRecord& job) {
  const auto& checks = StateOf(job).checks;
  return std::all_of(checks.begin(), checks.end(), [](const AdmissionCheckStatus& check) {
    return check.name == kMemberQueuesCheck || check.state == CheckState::kReady;
  });
}

bool IsRunByMemberQueue(const JobRecord& job) {
  const AdmissionCheckStatus* check = MemberQueuesCheck(job);
  return check != nullptr && IsDispatched(job.state) && check->state == CheckState::kReady;
}

std::int32_t AttemptOfCopies(const JobRecord& job) {
  return job.state == JobState::kReserved ? job.attempt + 1 : job.attempt;
}

std::string CopyName(const Uid& job_uid, std::int32_t attempt) {
  return "muster-" + job_uid.ToString() + "-" + std::to_string(attempt);
}

}  // namespace muster
