// Steps of a batch script (srun), and what was measured of a job's processes. Plain values.
#pragma once

#include <cstdint>
#include <string>

#include "schedd/base/ids.h"
#include "schedd/base/time.h"

namespace muster {

/// What processes used, by their control group or rusage. All zero: nothing was measured.
struct MeasuredUse {
  std::int64_t user_cpu_us = 0, system_cpu_us = 0;
  std::int64_t max_rss_bytes = 0;  // of the largest task of a step; of a job, the peak of a node
  std::int64_t read_bytes = 0, written_bytes = 0;
  bool operator==(const MeasuredUse&) const = default;
};

/// Values are stored: never renumber.
enum class StepState : std::uint8_t {
  kRunning = 1,
  kCompleted = 2,
  kFailed = 3,
  kCancelled = 4,
  kTimeout = 5,
  kOutOfMemory = 6,
};

/// One step of an attempt, as `sacct` shows it in the row ID.STEP.
struct StepRecord {
  JobId job;
  std::int32_t attempt = 0;
  std::int32_t step = 0;  // 0, 1, 2 ...
  std::string name;       // of the program that it runs
  std::string nodes;      // "job-7-[0-1]"
  std::int32_t node_count = 1, tasks = 1, cpus = 1;
  StepState state = StepState::kRunning;
  WallTime start_time, end_time;
  /// The highest of its tasks.
  std::int32_t exit_code = 0, exit_signal = 0;
  MeasuredUse use;
  bool operator==(const StepRecord&) const = default;
};

}  // namespace muster
