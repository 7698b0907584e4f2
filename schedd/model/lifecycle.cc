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
    // Hold and release say the same thing when said twice.
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
    // What a check adds contradicts the pods (rule A49).
    {JobState::kReserved, JobEvent::kFail, JobState::kFailed},
    {JobState::kAdmitted, JobEvent::kStart, JobState::kRunning},
    // A short job may end before anybody saw it run.
    {JobState::kAdmitted, JobEvent::kSucceed, JobState::kSucceeded},
    {JobState::kRunning, JobEvent::kSucceed, JobState::kSucceeded},
    {JobState::kAdmitted, JobEvent::kFail, JobState::kFailed},
    {JobState::kRunning, JobEvent::kFail, JobState::kFailed},
    {JobState::kHeld, JobEvent::kCancel, JobState::kCancelled},
    {JobState::kPending, JobEvent::kCancel, JobState::kCancelled},
    {JobState::kAdmitted, JobEvent::kCancel, JobState::kCancelled},
    {JobState::kRunning, JobEvent::kCancel, JobState::kCancelled},
    // Requeue is asked for, eviction is done to it; both start a further attempt.
    {JobState::kAdmitted, JobEvent::kRequeue, JobState::kPending},
    {JobState::kRunning, JobEvent::kRequeue, JobState::kPending},
    {JobState::kAdmitted, JobEvent::kEvict, JobState::kPending},
    {JobState::kRunning, JobEvent::kEvict, JobState::kPending},
};

}  // namespace

std::optional<JobState> Next(JobState state, JobEvent event) {
  for (const auto& transition : kTransitions) {
    if (transition.from == state && transition.event == event) return transition.to;
  }
  return std::nullopt;
}

}  // namespace muster
