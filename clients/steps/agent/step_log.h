// steps.jsonl: one line for every beginning and end of a step, which the member reads and reports.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "clients/steps/descriptor.h"

namespace muster::steps {

struct StepLine {
  std::int32_t step = 0;
  std::string name, nodes;
  std::int32_t node_count = 0, tasks = 0, cpus = 0;
  std::string state = "RUNNING";  // COMPLETED, FAILED, CANCELLED, TIMEOUT, OUT_OF_MEMORY
  std::int64_t start_us = 0, end_us = 0;
  std::int32_t exit_code = 0, exit_signal = 0;
  std::int64_t user_us = 0, system_us = 0, max_rss = 0, read_bytes = 0, written_bytes = 0;
};

/// The line with its line break.
std::string WriteStepLine(const StepLine& line);

/// A step number and state of a line that WriteStepLine made; step -1 for any other text.
struct StepLineState {
  std::int32_t step = -1;
  std::string state;
  std::string text;
};
StepLineState ReadStepLine(const std::string& line);

class StepLog {
 public:
  /// Opens the file of the directory and reads what an earlier manager has left there: the number
  /// of the next step, and the steps that have not ended. These get a last line with FAILED.
  explicit StepLog(int directory);
  std::int32_t next_step() const { return next_step_; }
  const std::vector<std::int32_t>& unfinished() const { return unfinished_; }
  void Append(const StepLine& line);

 private:
  Descriptor file_;
  std::int32_t next_step_ = 0;
  std::vector<std::int32_t> unfinished_;
};

}  // namespace muster::steps
