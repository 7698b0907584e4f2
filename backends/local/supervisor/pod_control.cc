// PodRunner: what it is asked to do while it runs: signals, suspension, lines for the script's
// output (rules B35 and B36).
//
// The backend writes an order as a file in `orders` and sends SIGUSR1; a file is removed before it
// is carried out, so that no order is carried out twice. An order is a JSON object:
// {"signal": 10, "target": "steps|batch|full|step", "step": 0} or {"line": "text"}.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "backends/local/process/files.h"
#include "backends/local/process/process_tree.h"
#include "backends/local/supervisor/container_run.h"
#include "backends/local/supervisor/pod_clock.h"
#include "schedd/base/limits_slurm_world.h"
#include "schedd/base/time.h"
#include "schedd/text/lenient.h"

namespace muster::local {
namespace {

// A process may fork while the others are being stopped; more passes find its children.
constexpr int kStopPasses = 5;
// A warning is sent no earlier than this after the start (or after half of the time that is left),
// so that the script can set its trap first.
constexpr std::int64_t kEarliestWarningMs = 10'000;

constexpr char kStepVariable[] = "SLURM_STEP_ID";

// The number of the step that a process belongs to; -1: none.
std::int64_t StepOf(pid_t pid) {
  const std::optional<std::string> text = EnvironmentOf(pid, kStepVariable);
  std::int64_t step = -1;
  if (!text) return -1;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), step);
  return error == std::errc() && end == text->data() + text->size() ? step : -1;
}

// Whether two paths name the same file.
bool SameFile(const std::string& a, const std::string& b) {
  struct stat first {
  }, second{};
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

bool IsAgent(pid_t pid, const BatchPod& batch) {
  return SameFile("/proc/" + std::to_string(pid) + "/exe", batch.step_agent);
}

bool EndsProcesses(int signal) { return signal == SIGKILL || signal == SIGTERM; }

// Tells the agent something: a file in the user's directory, made as the user, whole when it
// appears.
void LeaveMarker(const BatchPod& batch, const std::string& name, std::string_view text,
                 const Credentials& user) {
  const ScopedUser as(user);
  if (!as.problem().empty()) return;
  const std::string path = batch.steps_dir + "/" + name;
  const std::string written = path + ".new" + std::to_string(::getpid());
  const int fd =
      ::open(written.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
  if (fd < 0) return;
  const bool whole = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  if (!whole || ::rename(written.c_str(), path.c_str()) != 0) ::unlink(written.c_str());
}

}  // namespace

// The batch shell, or null: the pod waits for steps, or the script has not started or has ended.
PodRunner::Container* PodRunner::Script() const {
  if (!pod_.batch || !pod_.batch->script) return nullptr;
  for (const auto& container : containers_) {
    if (container->spec.role == ContainerRole::kMain) return container.get();
  }
  return nullptr;
}

void PodRunner::TakeOrders() {
  for (const std::string& name : ListDirectory("orders")) {
    const std::string path = "orders/" + name;
    // One that is being written ends so; SIGUSR1 comes after it is complete.
    if (name.ends_with(".tmp")) continue;
    const Result<std::string> text = ReadWholeFile(path);
    ::unlink(path.c_str());
    boost::system::error_code broken;
    const json::value order = json::parse(text.ok() ? *text : "", broken);
    if (broken || !order.is_object()) continue;
    if (const json::string* line = FindText(order, "line")) {
      Tell(std::string(*line) + "\n");
      continue;
    }
    const int signal = static_cast<int>(IntegerAt(order, "signal").value_or(0));
    if (signal <= 0 || signal > SIGRTMAX) continue;
    SignalTargets(signal, TextAt(order, "target"), IntegerAt(order, "step").value_or(-1));
  }
}

// Writes to the standard error of the script: to its log and its file.
void PodRunner::Tell(const std::string& line) {
  Container* script = Script();
  if (script == nullptr && !containers_.empty()) script = containers_.front().get();
  if (script == nullptr || line.empty()) return;
  script->TellError(line);
  script->HoldBack(epoll_);
}

// Suspending and resuming are signals to everything; the pod's own time stands still meanwhile.
void PodRunner::SignalTargets(int signal, const std::string& target, std::int64_t step) {
  const bool everything = target == "full" && (signal == SIGSTOP || signal == SIGCONT);
  if (everything && signal == SIGSTOP) return Pause();
  if (everything) return Resume();
  if (target == "batch") {
    const Container* script = Script();
    if (script != nullptr && script->state == State::kRunning && script->pid > 0)
      ::kill(script->pid, signal);
    return;
  }
  if (!pod_.batch) {
    // Without srun there are no steps: only "full" reaches anything.
    if (target == "full") SignalAll(signal);
    return;
  }
  std::set<std::int64_t> cancelled;
  const Container* script = Script();
  for (const pid_t pid : Descendants(::getpid())) {
    ProcessInfo process;
    if (!ReadProcess(pid, &process)) continue;
    const bool shell = script != nullptr && script->pid == pid;
    const std::int64_t of = shell ? -1 : StepOf(pid);
    // The agents stay, for they report how the steps end.
    const bool meant = target == "full"
                           ? (of >= 0 || script != nullptr) && !IsAgent(pid, *pod_.batch)
                       : target == "steps" ? of >= 0
                                           : of >= 0 && of == step;
    if (!meant) continue;
    if (of >= 0 && EndsProcesses(signal) && cancelled.insert(of).second)
      LeaveMarker(*pod_.batch, "cancelled." + std::to_string(of), "", containers_.front()->user);
    SignalIfSame(pid, process.start_ticks, signal);
  }
}

void PodRunner::Pause() {
  if (stopping_) return;
  if (paused_at_ms_ == 0) paused_at_ms_ = MonotonicMs();
  for (int pass = 0; pass < kStopPasses; ++pass) {
    bool stopped = false;
    for (const pid_t pid : Descendants(::getpid())) {
      ProcessInfo process;
      if (!ReadProcess(pid, &process) || process.state == 'T') continue;
      stopped = SignalIfSame(pid, process.start_ticks, SIGSTOP) || stopped;
    }
    if (!stopped) break;
  }
  WriteStatus();
}

// Deadlines move by the time that the pod was suspended.
void PodRunner::Resume() {
  const std::int64_t paused_at = std::exchange(paused_at_ms_, 0);
  if (paused_at > 0) {
    const std::int64_t lost = MonotonicMs() - paused_at;
    for (std::int64_t* due : {&deadline_ms_, &warn_at_ms_}) {
      if (*due > 0) *due = SaturatingAdd(*due, lost);
    }
  }
  SignalDescendants(::getpid(), SIGCONT);
  if (paused_at > 0) WriteStatus();
}

// The warning before the time limit (--signal).
void PodRunner::PlanWarning() {
  if (!pod_.batch || pod_.batch->warning_signal == 0) return;
  const std::int64_t left_ms =
      std::max<std::int64_t>(0, (pod_.batch->warning_at_us - WallMicros()) / kMicrosPerMilli);
  warn_at_ms_ = SaturatingAdd(MonotonicMs(), std::max(left_ms, kEarliestWarningMs));
}

void PodRunner::Warn() {
  warn_at_ms_ = 0;
  SignalTargets(pod_.batch->warning_signal, pod_.batch->warning_batch_only ? "batch" : "steps", -1);
}

// Sums the resident memory, at growing intervals.
void PodRunner::SampleMemory() {
  use_.Sample(::getpid());
  sample_every_ms_ = std::min(2 * sample_every_ms_, limits::kSampleLongestMs);
  sample_at_ms_ = MonotonicMs() + sample_every_ms_;
}

// Says why a batch script is stopped, before it gets the signal.
// The agent is told before the steps get TERM, or it would take their ends for failures.
void PodRunner::TellStop(StopRequest::Cause cause) {
  if (pod_.batch && !pod_.batch->steps_dir.empty() && !containers_.empty())
    LeaveMarker(*pod_.batch, "stopped", StopWords(cause), containers_.front()->user);
  if (Script() == nullptr || AllMainsEnded()) return;
  Tell(StopLine(cause, pod_.batch->job, pod_.batch->host, WallMicros()));
}

// As slurmstepd does at the end of a step.
void PodRunner::TellOutOfMemory(std::int64_t kills) {
  if (Script() == nullptr || kills <= 0) return;
  Tell("slurmstepd: error: Detected " + std::to_string(kills) + " oom_kill event" +
       (kills == 1 ? "" : "s") + " in StepId=" + std::to_string(pod_.batch->job) +
       ".batch. Some of the step tasks have been OOM Killed.\n");
}

}  // namespace muster::local
