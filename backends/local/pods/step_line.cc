// The members are those that clients/steps writes.
#include "backends/local/pods/step_line.h"

#include <array>
#include <climits>
#include <utility>

#include "backends/local/pods/json_read.h"
#include "schedd/base/limits_slurm_world.h"

namespace muster::local {
namespace {

constexpr std::array<std::pair<std::string_view, StepState>, 6> kStates = {{
    {"RUNNING", StepState::kRunning},
    {"COMPLETED", StepState::kCompleted},
    {"FAILED", StepState::kFailed},
    {"CANCELLED", StepState::kCancelled},
    {"TIMEOUT", StepState::kTimeout},
    {"OUT_OF_MEMORY", StepState::kOutOfMemory},
}};

// Reads numbers of one object; remembers if one of them was out of range.
class NumberReader {
 public:
  explicit NumberReader(const json::object& from) : from_(from) {}
  std::int64_t Read(std::string_view key, std::int64_t least, std::int64_t most) {
    const std::int64_t number = Integer(from_, key, least);
    sound_ = sound_ && number >= least && number <= most;
    return number;
  }
  std::int32_t Small(std::string_view key, std::int64_t least, std::int64_t most = INT32_MAX) {
    return static_cast<std::int32_t>(Read(key, least, most));
  }
  bool sound() const { return sound_; }

 private:
  const json::object& from_;
  bool sound_ = true;
};

// The database takes no NUL in a text.
bool IsText(const std::string& text, std::size_t most) {
  return text.size() <= most && text.find('\0') == std::string::npos;
}

}  // namespace

std::optional<StepRecord> ReadStepLine(std::string_view line) {
  boost::system::error_code error;
  const json::value value = json::parse(line, error);
  if (error || !value.is_object()) return std::nullopt;
  const json::object& from = value.get_object();
  StepRecord step;
  NumberReader numbers(from);
  if (!MaybeInteger(from, "step")) return std::nullopt;
  step.step = numbers.Small("step", 0, limits::kStepNumberMax);
  step.name = Text(from, "name");
  step.nodes = Text(from, "nodes");
  step.node_count = numbers.Small("nodeCount", 0);
  step.tasks = numbers.Small("tasks", 0);
  step.cpus = numbers.Small("cpus", 0);
  step.start_time = {numbers.Read("startUs", 0, INT64_MAX)};
  step.end_time = {numbers.Read("endUs", 0, INT64_MAX)};
  step.exit_code = numbers.Small("exitCode", 0, 255);
  step.exit_signal = numbers.Small("exitSignal", 0, 255);
  step.use.user_cpu_us = numbers.Read("userCpuUs", 0, INT64_MAX);
  step.use.system_cpu_us = numbers.Read("systemCpuUs", 0, INT64_MAX);
  step.use.max_rss_bytes = numbers.Read("maxRssBytes", 0, INT64_MAX);
  step.use.read_bytes = numbers.Read("readBytes", 0, INT64_MAX);
  step.use.written_bytes = numbers.Read("writtenBytes", 0, INT64_MAX);
  const std::string state = Text(from, "state");
  bool known = false;
  for (const auto& [name, meaning] : kStates) {
    if (name != state) continue;
    step.state = meaning;
    known = true;
  }
  // A step has an end exactly if it does not run.
  if (step.state == StepState::kRunning) step.end_time = {};
  const bool ends = step.state == StepState::kRunning || step.end_time.set();
  if (!known || !ends || !numbers.sound() || !IsText(step.name, limits::kStepNameBytes) ||
      !IsText(step.nodes, limits::kStepNodesBytes)) {
    return std::nullopt;
  }
  return step;
}

}  // namespace muster::local
