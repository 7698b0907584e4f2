// Writes whole lines by single writes and never waits for the disk: the member copies what counts
// into its own records.
#include "clients/steps/agent/step_log.h"

#include <fcntl.h>

#include <map>

#include "clients/steps/agent/event_loop.h"
#include "clients/steps/words.h"

namespace muster::steps {
namespace {

// Steps of an earlier manager that are read; a longer file is the fault of somebody else.
constexpr std::size_t kMostLogBytes = 256u << 20;

void Put(std::string* out, const char* name, std::int64_t value) {
  *out += std::string(",\"") + name + "\":" + std::to_string(value);
}
void Put(std::string* out, const char* name, const std::string& value) {
  *out += std::string(",\"") + name + "\":" + JsonText(value);
}

}  // namespace

std::string WriteStepLine(const StepLine& line) {
  std::string out = "{\"step\":" + std::to_string(line.step);
  Put(&out, "name", line.name);
  Put(&out, "nodes", line.nodes);
  Put(&out, "nodeCount", line.node_count);
  Put(&out, "tasks", line.tasks);
  Put(&out, "cpus", line.cpus);
  Put(&out, "state", line.state);
  Put(&out, "startUs", line.start_us);
  Put(&out, "endUs", line.end_us);
  Put(&out, "exitCode", line.exit_code);
  Put(&out, "exitSignal", line.exit_signal);
  Put(&out, "userCpuUs", line.user_us);
  Put(&out, "systemCpuUs", line.system_us);
  Put(&out, "maxRssBytes", line.max_rss);
  Put(&out, "readBytes", line.read_bytes);
  Put(&out, "writtenBytes", line.written_bytes);
  return out + "}\n";
}

StepLineState ReadStepLine(const std::string& line) {
  static constexpr std::string_view kStep = "{\"step\":";
  static constexpr std::string_view kState = ",\"state\":\"";
  StepLineState out;
  if (!line.starts_with(kStep)) return out;
  const auto comma = line.find(',');
  // A quote in a name is written behind a backslash, so this text is the member's name itself.
  const auto state = line.rfind(kState);
  if (comma == std::string::npos || state == std::string::npos) return out;
  const auto step = WholeNumber(std::string_view(line).substr(kStep.size(), comma - kStep.size()));
  if (!step || *step > 1'000'000'000) return out;
  const auto begin = state + kState.size();
  out.step = static_cast<std::int32_t>(*step);
  out.state = line.substr(begin, line.find('"', begin) - begin);
  out.text = line;
  return out;
}

StepLog::StepLog(int directory)
    : file_(::openat(directory, "steps.jsonl", O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600)) {
  std::string text;
  char buffer[64 << 10];
  while (text.size() < kMostLogBytes) {
    const ssize_t got = ::read(file_.get(), buffer, sizeof(buffer));
    if (got <= 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  // A manager that died within a write has left half a line.
  if (!text.empty() && text.back() != '\n') {
    [[maybe_unused]] const ssize_t written = ::write(file_.get(), "\n", 1);
  }
  std::map<std::int32_t, std::string> running;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const StepLineState line = ReadStepLine(text.substr(at, end - at));
    at = end + 1;
    if (line.step < 0) continue;
    next_step_ = std::max(next_step_, line.step + 1);
    running.erase(line.step);
    if (line.state == "RUNNING") running[line.step] = line.text;
  }
  for (auto& [step, line] : running) {
    unfinished_.push_back(step);
    static constexpr std::string_view kRunning = "\"state\":\"RUNNING\"";
    static constexpr std::string_view kNoEnd = "\"endUs\":0,";
    line.replace(line.rfind(kRunning), kRunning.size(), "\"state\":\"FAILED\"");
    const auto end = line.rfind(kNoEnd);
    if (end != std::string::npos)
      line.replace(end, kNoEnd.size(), "\"endUs\":" + std::to_string(WallUs()) + ",");
    line += '\n';
    [[maybe_unused]] const ssize_t written = ::write(file_.get(), line.data(), line.size());
  }
}

void StepLog::Append(const StepLine& line) {
  const std::string text = WriteStepLine(line);
  [[maybe_unused]] const ssize_t written = ::write(file_.get(), text.data(), text.size());
}

}  // namespace muster::steps
