// The transition table. Next searches it from the top; a pair of state and event that is not in it
// is refused. Terminal states absorb every event but kRunAgain.
#include "schedd/model/lifecycle.h"

namespace muster {
namespace {

struct Transition {
  JobState from;
  JobEvent event;
  JobState to;
};

// Every allowed transition; what is not listed is refused.
constexpr Transition kTransitions[] = {
    // A draft enters the queue, or waits on hold from the start.
    {JobState::kPending, JobEvent::kAccept, JobState::kPending},
    {JobState::kHeld, JobEvent::kAccept, JobState::kHeld},
    // Hold and release may be repeated.
    {JobState::kPending, JobEvent::kHold, JobState::kHeld},
    {JobState::kHeld, JobEvent::kHold, JobState::kHeld},
    {JobState::kHeld, JobEvent::kRelease, JobState::kPending},
    {JobState::kPending, JobEvent::kRelease, JobState::kPending},
    // Two-phase admission: quota first, dispatch when all checks are ready.
    {JobState::kPending, JobEvent::kReserve, JobState::kReserved},
    {JobState::kPending, JobEvent::kAdmit, JobState::kAdmitted},
    {JobState::kReserved, JobEvent::kAdmit, JobState::kAdmitted},
    {JobState::kReserved, JobEvent::kCancel, JobState::kCancelled},
    {JobState::kReserved, JobEvent::kRequeue, JobState::kPending},
    {JobState::kReserved, JobEvent::kEvict, JobState::kPending},
    // The updates of an admission check contradict the pods (rule A49).
    {JobState::kReserved, JobEvent::kFail, JobState::kFailed},
    {JobState::kAdmitted, JobEvent::kStart, JobState::kRunning},
    // A short job may end before a report shows it running.
    {JobState::kAdmitted, JobEvent::kSucceed, JobState::kSucceeded},
    {JobState::kRunning, JobEvent::kSucceed, JobState::kSucceeded},
    {JobState::kAdmitted, JobEvent::kFail, JobState::kFailed},
    {JobState::kRunning, JobEvent::kFail, JobState::kFailed},
    {JobState::kHeld, JobEvent::kCancel, JobState::kCancelled},
    {JobState::kPending, JobEvent::kCancel, JobState::kCancelled},
    {JobState::kAdmitted, JobEvent::kCancel, JobState::kCancelled},
    {JobState::kRunning, JobEvent::kCancel, JobState::kCancelled},
    // A user requeues a job, Muster evicts one; both lead to a further attempt.
    {JobState::kAdmitted, JobEvent::kRequeue, JobState::kPending},
    {JobState::kRunning, JobEvent::kRequeue, JobState::kPending},
    {JobState::kAdmitted, JobEvent::kEvict, JobState::kPending},
    {JobState::kRunning, JobEvent::kEvict, JobState::kPending},
    // A user has an ended script run once more, under the same number.
    {JobState::kSucceeded, JobEvent::kRunAgain, JobState::kPending},
    {JobState::kFailed, JobEvent::kRunAgain, JobState::kPending},
    {JobState::kCancelled, JobEvent::kRunAgain, JobState::kPending},
};

}  // namespace

std::optional<JobState> Next(JobState state, JobEvent event) {
  for (const auto& transition : kTransitions) {
    if (transition.from == state && transition.event == event) return transition.to;
  }
  return std::nullopt;
}

}  // namespace muster
