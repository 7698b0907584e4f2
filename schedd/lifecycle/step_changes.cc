#include "schedd/lifecycle/step_changes.h"

#include <algorithm>
#include <limits>

#include "schedd/base/limits_slurm_steps_store.h"
#include "schedd/model/plain_text.h"
#include "schedd/model/step_end.h"

namespace muster::changes {
namespace {

// Clocks of members may be ahead of ours by this much.
constexpr std::int64_t kAheadUs = 60 * kMicrosPerSecond;
// No signal of Linux is higher.
constexpr std::int32_t kLastSignal = 64;
constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();

MeasuredUse Sane(const MeasuredUse& use) { return MostOf(use, MeasuredUse{}); }

// A time that is unset or in the future is `seen`.
WallTime Sane(WallTime time, WallTime seen) {
  return time.us <= 0 || time > seen.Plus(kAheadUs) ? seen : time;
}

}  // namespace

bool TakeReported(StepRecord* step, JobId job, std::int32_t attempt, WallTime seen) {
  if (step->step < 0 || step->step >= limits::kStepsPerAttempt) return false;
  if (step->state < StepState::kRunning || step->state > StepState::kOutOfMemory) return false;
  step->job = job;
  step->attempt = attempt;
  BoundText(&step->name, limits::kStoredStepNameBytes);
  BoundText(&step->nodes, limits::kStoredStepNodesBytes);
  for (std::int32_t* count : {&step->node_count, &step->tasks, &step->cpus})
    *count = std::clamp(*count, 1, kMost);
  step->exit_code = std::clamp(step->exit_code, 0, kMost);
  step->exit_signal = std::clamp(step->exit_signal, 0, kLastSignal);
  step->use = Sane(step->use);
  step->start_time = Sane(step->start_time, seen);
  step->end_time = step->state == StepState::kRunning
                       ? WallTime{}
                       : std::max(Sane(step->end_time, seen), step->start_time);
  return true;
}

void CloseUnended(StepRecord* step, WallTime end) {
  if (step->end_time.set()) return;
  step->end_time = std::max(end, step->start_time);
  step->state = kUnendedStepState;
  step->exit_signal = kUnendedStepSignal;
}

MeasuredUse MostOf(const MeasuredUse& a, const MeasuredUse& b) {
  return {std::max(a.user_cpu_us, b.user_cpu_us), std::max(a.system_cpu_us, b.system_cpu_us),
          std::max(a.max_rss_bytes, b.max_rss_bytes), std::max(a.read_bytes, b.read_bytes),
          std::max(a.written_bytes, b.written_bytes)};
}

}  // namespace muster::changes
