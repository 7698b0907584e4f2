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

/// One line; -1: not known. Times in seconds, memory in KB a processor.
struct SwfJob {
  std::int64_t number = -1, submit = -1, run = -1;
  std::int64_t used_processors = -1, used_memory = -1;
  std::int64_t requested_processors = -1, requested_time = -1, requested_memory = -1;
  std::int64_t status = -1;  // 0 failed, 1 completed, 2 to 4 part of an execution, 5 cancelled
  std::int64_t user = -1, group = -1, queue = -1, partition = -1;
};

/// Errors (kInvalidArgument) name the line. Fractions are cut off.
Result<std::vector<SwfJob>> ParseSwf(std::string_view text);

struct SwfRules {
  enum class By : std::uint8_t { kNothing, kQueue, kUser, kGroup, kPartition };
  By by = By::kNothing;
  std::map<std::int64_t, std::string> queue_of;  // by that number: "namespace/LocalQueue"
  std::string queue;                             // of all others; "": there is none
  std::string resource = "cpu";                  // that a processor is one of
  bool used_processors = false;  // count what was used; else what was requested, if that is known
  bool memory = false;           // requests of memory count too (requested, else used)
  bool time_limit = true;        // the requested time limits the run
  std::size_t max_jobs = 0;      // 0: no limit
};

/// nullopt for an unknown name: "queue", "user", "group", "partition".
std::optional<SwfRules::By> SwfByOf(std::string_view name);

/// A number of a trace (a user, a queue, ...) as text; nullopt for anything else.
std::optional<std::int64_t> SwfNumberOf(std::string_view text);

/// What was left out, and why.
struct SwfCounts {
  std::size_t taken = 0;
  std::size_t never_ran = 0;      // cancelled while it waited, or no run time is known
  std::size_t no_processors = 0;  // neither used nor requested ones are known
  std::size_t partial = 0;        // status 2 to 4: parts of an execution that has its own line
};

/// Adds the jobs of a trace to a scenario that has their queues: one pod for each processor, all or
/// none, from the first submission on. Errors: a number without queue; a LocalQueue that is not
/// there; too many jobs.
Result<SwfCounts> AddSwfJobs(const std::vector<SwfJob>& trace, const SwfRules& rules,
                             Scenario* scenario);

}  // namespace muster::simulate
