// What can be said to the processes of a running attempt: signals, and why they are ended. Plain
// values.
#pragma once

#include <cstdint>

namespace muster {

/// Why an attempt is ended, for the line that its output gets: `*** JOB 7 ON host CANCELLED AT
/// 2026-11-24T12:00:00 ***` and its kin (slurmstepd's words; rule B35).
enum class StopCause : std::uint8_t {
  kCancelled = 0,
  kTimeLimit = 1,
  kPreempted = 2,
  kRequeued = 3,
  kNodeFailure = 4,
};

/// A signal to processes of an attempt (rule B36).
struct SignalOrder {
  enum class Target : std::uint8_t {
    kSteps = 0,  // processes that srun started
    kBatch = 1,  // the batch shell alone
    kFull = 2,   // the batch shell, its children and all steps
    kStep = 3,   // one step
  };
  int signal = 0;  // a number of this host; SIGSTOP and SIGCONT suspend and resume
  Target target = Target::kSteps;
  std::int32_t step = -1;
};

}  // namespace muster
