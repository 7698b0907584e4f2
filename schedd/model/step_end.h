// How a step is closed that its attempt has left open: by the end of the attempt (rule B53).
#pragma once

#include "schedd/model/step.h"

namespace muster {

/// Its processes ended with the attempt's pods, and nobody has told how: sacct shows CANCELLED and
/// 0:15, as Slurm does for the steps of a job that is stopped.
inline constexpr StepState kUnendedStepState = StepState::kCancelled;
inline constexpr std::int32_t kUnendedStepSignal = 15;  // SIGTERM

}  // namespace muster
