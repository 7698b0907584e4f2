// SWF: the Standard Workload Format of the Parallel Workloads Archive (version 2: 18 numbers a
// line, `;` comments, -1 for "not known"), and jobs of a scenario made of it. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedd/base/result.h"
#include "schedd/simulate/simulator.h"

namespace muster::simulate {

/// One line of a trace; -1: not known. Times in seconds, memory in KB for each processor.
struct SwfJob {
  std::int64_t number = -1, submit = -1, run = -1;
  std::int64_t used_processors = -1, used_memory = -1;
  std::int64_t requested_processors = -1, requested_time = -1, requested_memory = -1;
  /// 0 failed, 1 completed, 2 to 4 part of an execution, 5 cancelled.
  std::int64_t status = -1;
  std::int64_t user = -1, group = -1, queue = -1, partition = -1;
};

/// Errors (kInvalidArgument) name the line. Fractions are cut off.
Result<std::vector<SwfJob>> ParseSwf(std::string_view text);

/// How jobs are made of the lines of a trace.
struct SwfRules {
  enum class By : std::uint8_t { kNothing, kQueue, kUser, kGroup, kPartition };
  By by = By::kNothing;
  /// By the number that `by` chooses: "namespace/LocalQueue".
  std::map<std::int64_t, std::string> queue_of;
  /// Of all other jobs; "": there is none.
  std::string queue;
  /// A pod requests one unit of it for its processor.
  std::string resource = "cpu";
  /// Prefer used processors to requested ones, if they are known.
  bool used_processors = false;
  /// Pods request memory too (requested, else used).
  bool memory = false;
  /// The requested time limits the run.
  bool time_limit = true;
  /// 0: no limit.
  std::size_t max_jobs = 0;
};

/// nullopt for an unknown name: "queue", "user", "group", "partition".
std::optional<SwfRules::By> SwfByOf(std::string_view name);

/// A number of a trace (a user, a queue, ...) as text; nullopt for anything else.
std::optional<std::int64_t> SwfNumberOf(std::string_view text);

/// How many jobs were taken, and how many were left out and why.
struct SwfCounts {
  std::size_t taken = 0;
  /// Cancelled while it waited, or without a known run time.
  std::size_t never_ran = 0;
  /// Neither used nor requested processors are known.
  std::size_t no_processors = 0;
  /// Status 2 to 4: parts of an execution that has a line of its own.
  std::size_t partial = 0;
};

/// Adds the jobs of a trace to a scenario that has their queues: one pod for each processor,
/// admitted all or none, counted from the first submission. Errors: a job without a queue; a
/// LocalQueue that does not exist; too many jobs.
Result<SwfCounts> AddSwfJobs(const std::vector<SwfJob>& trace, const SwfRules& rules,
                             Scenario* scenario);

}  // namespace muster::simulate
