// The only transition table of jobs: which event may follow in which state, and which state it
// leads to.
#pragma once

#include "schedd/model/job.h"

namespace muster {

/// What may happen to a job.
enum class JobEvent : std::uint8_t {
  kAccept,
  kHold,
  kRelease,
  kReserve,
  kAdmit,
  kStart,
  kSucceed,
  kFail,
  kCancel,
  kRequeue,
  kEvict,
  /// An ended batch script is requeued (rule B25).
  kRunAgain,
};

/// The state after `event` in `state`; nullopt if the event is not allowed there. Terminal states
/// absorb all but kRunAgain.
std::optional<JobState> Next(JobState state, JobEvent event);

}  // namespace muster
