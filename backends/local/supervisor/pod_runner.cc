// PodRunner: the supervisor's main loop.
//
// The loop waits for output, for signals (SIGCHLD, SIGTERM by a signalfd) and for the next timer;
// then it reaps, handles a request to stop, checks the timers and calls Advance, which starts what
// is due. Init containers run one after another, each to its end; a sidecar starts in its turn and
// the next one follows once it runs; then all main containers start. The pod has ended when all
// main containers have ended and, after the stop of the rest, no child is left. The supervisor is a
// child subreaper, so every process that the pod ever forked is its child in the end, and none can
// escape.
//
// Stopping: CONT and TERM to every process, the grace period, then KILL. A finished pod stops its
// sidecars the same way; processes that the containers left behind are killed at once.
//
// Without a control group that bounds the number of processes they are counted five times a second.
#include "backends/local/supervisor/pod_runner.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "backends/local/process/files.h"
#include "backends/local/process/process_tree.h"
#include "backends/local/supervisor/container_run.h"
#include "backends/local/supervisor/launch.h"
#include "backends/local/supervisor/pod_clock.h"
#include "schedd/base/limits_slurm_world.h"
#include "schedd/base/time.h"

namespace muster::local {
namespace {

// The kubelet's restart back-off.
constexpr std::int64_t kFirstBackoffMs = 10'000, kLongestBackoffMs = 300'000;
// How often processes are counted if no control group bounds them.
constexpr std::int64_t kGuardEveryMs = 200;
constexpr std::size_t kPumpBytes = 64 << 10;
// How often the end of a pod is written again that the disk did not take.
constexpr useconds_t kEndAgainUs = 500'000;
// Slurm's mark of a batch script that could not start, for instance without its output's directory:
// it ends with 0:53. No container that ran is reported with it, unless that signal ended it.
constexpr int kScriptNotStarted = 53;

// False once no process of the pod is left, because the supervisor adopts every orphan below it.
bool HasChildren() {
  siginfo_t info;
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

}  // namespace

PodRunner::PodRunner(SupervisedPod pod)
    : pod_(std::move(pod)), cgroups_(pod_.cgroups, pod_.cgroup_key) {
  for (const ContainerSpec& spec : pod_.containers) {
    containers_.push_back(std::make_unique<Container>(spec, "log/" + spec.name, pod_.log_bytes));
  }
}

PodRunner::~PodRunner() {
  for (const int fd : {epoll_, signals_, wanted_, agent_output_}) {
    if (fd >= 0) ::close(fd);
  }
}

void PodRunner::Run() {
  sigset_t watched;
  ::sigemptyset(&watched);
  ::sigaddset(&watched, SIGCHLD);
  ::sigaddset(&watched, SIGTERM);
  ::sigaddset(&watched, SIGUSR1);
  ::sigprocmask(SIG_BLOCK, &watched, nullptr);
  signals_ = ::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  Watch(signals_);
  WriteStatus();
  if (Status made = cgroups_.Create(pod_.max_processes); !made.ok()) {
    FailPod("FailedToStart", made.error().detail);
  }
  if (pod_.active_deadline_s > 0)
    deadline_ms_ = SaturatingAdd(MonotonicMs(), SecondsToMillis(pod_.active_deadline_s));
  if (!cgroups_.limits_processes() && pod_.max_processes > 0)
    guard_at_ms_ = MonotonicMs() + kGuardEveryMs;
  if (!cgroups_.limits_memory()) {
    sample_every_ms_ = limits::kSampleFirstMs;
    sample_at_ms_ = MonotonicMs() + sample_every_ms_;
  }
  PlanWarning();
  ListenForSteps();
  TakeOrders();
  // The request may have come before the backend could know this process's pid.
  if (PathExists("stop")) OnStopRequest();
  Advance();
  while (!finished_) {
    epoll_event events[16];
    const int count = ::epoll_wait(epoll_, events, 16, WaitMs());
    bool signalled = false;
    for (int i = 0; i < count; ++i) {
      if (events[i].data.fd == signals_) {
        signalled = true;
      } else {
        PumpOutput(events[i].data.fd);
      }
    }
    signalfd_siginfo info;
    bool terminated = false, ordered = false;
    while (signalled && ::read(signals_, &info, sizeof info) == sizeof info) {
      terminated = terminated || info.ssi_signo == SIGTERM;
      ordered = ordered || info.ssi_signo == SIGUSR1;
    }
    Reap();
    if (ordered) TakeOrders();
    if (terminated) OnStopRequest();
    CheckTimers();
    Advance();
  }
}

void PodRunner::Watch(int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
}

// Starts what is due; ends the pod when nothing more is to come.
void PodRunner::Advance() {
  if (!stopping_ && AdvanceStartUp()) {
    for (const auto& container : containers_) {
      if (container->spec.role == ContainerRole::kMain) Start(container.get());
    }
    if (started_us_ == 0 && !stopping_) {
      started_us_ = WallMicros();
      WriteStatus();
    }
    if (!stopping_ && AllMainsEnded()) {
      for (const auto& container : containers_) {
        if (container->spec.role == ContainerRole::kMain && container->failed()) {
          FailPod("Error", container->message);
        }
      }
      // Sidecars get the grace period; other processes that are left are killed at once.
      if (!stopping_) BeginStop(AnyRunning() ? SecondsToMillis(pod_.grace_period_s) : 0, SIGTERM);
    }
  }
  if (stopping_ && !HasChildren()) {
    std::vector<std::string> names;
    for (const auto& container : containers_) {
      DrainOutput(container.get());
      names.push_back(container->spec.name);
    }
    use_.TakeFrom(cgroups_, names);
    cgroups_.Remove();
    finished_ = true;
    ended_us_ = WallMicros();
    WriteStatus();
  }
}

// Starts init containers and sidecars in order; true when the main containers may run.
bool PodRunner::AdvanceStartUp() {
  for (const auto& container : containers_) {
    if (container->spec.role == ContainerRole::kMain) continue;
    // It may end before it has a process, of which nobody else would tell.
    if (container->state == State::kWaiting) Start(container.get());
    if (stopping_) return false;
    if (container->state == State::kEnded) {
      if (!container->failed()) continue;
      FailPod("InitContainerFailed", "init " + container->message);
      return false;
    }
    const bool sidecar = container->spec.role == ContainerRole::kSidecar;
    if (!sidecar || (container->state != State::kRunning && container->restarts == 0)) return false;
  }
  return true;
}

// Starts a waiting container whose back-off is over. One without a program gets a stand-in.
void PodRunner::Start(Container* container) {
  if (stopping_ || container->state != State::kWaiting || container->start_at_ms > MonotonicMs())
    return;
  const ContainerSpec& spec = container->spec;
  if (!spec.stand_in_for.empty() && (spec.argv.empty() || FindProgram(spec).empty())) {
    HoldPlace(container);
    return;
  }
  std::string problem;
  const Status limited = cgroups_.CreateContainer(spec.name, spec.memory_bytes, spec.cpu_milli);
  if (!limited.ok()) problem = limited.error().detail;
  LaunchedContainer launched;
  if (problem.empty()) {
    if (pod_.batch) cgroups_.SetForBatch(spec.name, pod_.batch->cpus);
    container->kills_before = cgroups_.OutOfMemoryKills(spec.name);
    launched = Launch(pod_, spec, cgroups_, container->WantsUserFiles());
    container->KeepUserFiles(launched.output_file, launched.error_file);
    problem = launched.problem;
  }
  if (!problem.empty()) {
    container->log.Write("[muster: " + problem + "]\n", WallMicros());
    container->out_of_memory = false;
    Conclude(container, 128, pod_.batch ? kScriptNotStarted : 0,
             "container " + container->spec.name + " could not start: " + problem);
    return;
  }
  container->state = State::kRunning;
  container->pid = launched.pid;
  container->output = launched.output;
  container->errors = launched.errors;
  container->started_us = WallMicros();
  container->started_ms = MonotonicMs();
  Watch(container->output);
  if (container->errors >= 0) Watch(container->errors);
  if (paused_at_ms_ > 0) return Pause();
  WriteStatus();
}

// The stand-in, like Kubernetes' pause image: the container counts as running, without a process,
// until the pod is stopped.
void PodRunner::HoldPlace(Container* container) {
  container->log.Write("image " + container->spec.stand_in_for +
                       " is not pulled on a local member and no command is given: a stand-in "
                       "holds the container's place until it is stopped\n",
                       WallMicros());
  container->stand_in = true;
  container->state = State::kRunning;
  container->started_us = WallMicros();
  container->started_ms = MonotonicMs();
  WriteStatus();
}

// Reaps all children that have ended; those that are a container's main process end the container.
void PodRunner::Reap() {
  for (;;) {
    int status = 0;
    rusage usage{};
    const pid_t pid = ::wait4(-1, &status, WNOHANG, &usage);
    if (pid <= 0) return;
    use_.AddReaped(usage);
    if (pid == agent_pid_) agent_pid_ = 0;
    for (const auto& container : containers_) {
      if (container->pid == pid && container->state == State::kRunning)
        OnExit(container.get(), status);
    }
  }
}

// A container's main process has ended: finds out why.
void PodRunner::OnExit(Container* container, int wait_status) {
  if (!stopping_) KillLeftovers(*container);
  DrainOutput(container);
  const int signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
  const int code = signal != 0 ? 128 + signal : WEXITSTATUS(wait_status);
  const std::int64_t kills =
      cgroups_.OutOfMemoryKills(container->spec.name) - container->kills_before;
  container->out_of_memory = kills > 0;
  if (container == Script()) TellOutOfMemory(kills);
  std::string why = "container " + container->spec.name;
  if (container->out_of_memory && signal == SIGKILL) {
    why += " was killed: out of memory";
  } else {
    why += signal != 0 ? " was killed by signal " + std::to_string(signal)
                       : " exited with code " + std::to_string(code);
    if (container->out_of_memory) why += ", a process of it was killed: out of memory";
  }
  Conclude(container, code, signal, why);
}

// Records a container's end and schedules its restart, if the pod's policy asks for one.
void PodRunner::Conclude(Container* container, int exit_code, int signal, std::string why) {
  container->pid = 0;
  container->exit_code = exit_code;
  container->signal = signal;
  container->ended_us = WallMicros();
  container->message = std::move(why);
  container->state = State::kEnded;
  if (exit_code == 0) {
    container->failure.reset();
  } else if (!stopping_) {
    container->failure =
        OwnFailure{exit_code, signal, container->out_of_memory, container->message};
  }
  const bool again = container->spec.role == ContainerRole::kSidecar
                         ? true
                         : (pod_.restart_policy == RestartPolicy::kAlways &&
                            (container->spec.role == ContainerRole::kMain || exit_code != 0)) ||
                               (pod_.restart_policy == RestartPolicy::kOnFailure && exit_code != 0);
  if (again && !stopping_) ScheduleRestart(container);
  WriteStatus();
}

void PodRunner::ScheduleRestart(Container* container) {
  const std::int64_t now = MonotonicMs();
  // As the kubelet: at once the first time, then after 10 s, doubling up to 5 min; a run of more
  // than 10 min resets it.
  if (now - container->started_ms > 2 * kLongestBackoffMs) container->backoff_ms = 0;
  container->start_at_ms = now + container->backoff_ms;
  container->backoff_ms = std::clamp(container->backoff_ms * 2, kFirstBackoffMs, kLongestBackoffMs);
  ++container->restarts;
  container->state = State::kWaiting;
}

// Kills the processes that a container has left, so that they do not run beside its next start or
// the pod's other containers. Without a control group they are found by their session.
void PodRunner::KillLeftovers(const Container& container) {
  if (!HasChildren()) return;
  if (!cgroups_.empty()) {
    for (const pid_t pid : cgroups_.Processes(container.spec.name)) ::kill(pid, SIGKILL);
    return;
  }
  for (const ProcessInfo& process : AllProcesses()) {
    if (process.session == container.pid) ::kill(process.pid, SIGKILL);
  }
}

// SIGTERM has come; the file `stop` says how long the pod has, and why it is stopped.
void PodRunner::OnStopRequest() {
  const Result<std::string> asked = ReadWholeFile("stop");
  const StopRequest request = ReadStopRequest(asked.ok() ? *asked : "");
  const std::int64_t grace_ms =
      request.grace_ms < 0 ? SecondsToMillis(pod_.grace_period_s) : request.grace_ms;
  stop_requested_ = true;
  if (stopping_) {
    // A second request can only shorten the grace period.
    kill_at_ms_ = std::min(kill_at_ms_, SaturatingAdd(MonotonicMs(), grace_ms));
    return;
  }
  if (!stopping_) TellStop(request.cause);
  // A pod whose main containers have ended keeps its result.
  if (!AllMainsEnded()) FailPod("Stopped", "stopped on request");
  if (!stopping_) BeginStop(grace_ms, SIGTERM);
  kill_at_ms_ = SaturatingAdd(MonotonicMs(), grace_ms);
}

// Marks the pod as failed, with the first reason, and stops it.
void PodRunner::FailPod(const std::string& reason, const std::string& message) {
  if (!failed_) {
    failed_ = true;
    reason_ = reason;
    message_ = message;
  }
  if (!stopping_) BeginStop(SecondsToMillis(pod_.grace_period_s), SIGTERM);
}

// Signals everything and starts the grace period. Stand-ins end at once.
void PodRunner::BeginStop(std::int64_t grace_ms, int first_signal) {
  stopping_ = true;
  kill_at_ms_ = SaturatingAdd(MonotonicMs(), grace_ms);
  guard_at_ms_ = warn_at_ms_ = sample_at_ms_ = paused_at_ms_ = 0;
  // A process that is stopped could not end.
  if (grace_ms > 0) SignalAll(SIGCONT);
  SignalAll(grace_ms > 0 ? first_signal : SIGKILL);
  for (const auto& container : containers_) {
    if (container->stand_in && container->state == State::kRunning)
      Conclude(container.get(), 0, 0, "the stand-in was stopped");
  }
  WriteStatus();
}

void PodRunner::SignalAll(int signal) {
  if (!HasChildren()) return;
  if (signal != SIGKILL) {
    SignalDescendants(::getpid(), signal);
    return;
  }
  if (!cgroups_.empty()) cgroups_.KillAll();
  KillDescendants(::getpid());
}

void PodRunner::CheckTimers() {
  const std::int64_t now = MonotonicMs();
  if (stopping_) {
    if (now < kill_at_ms_) return;
    SignalAll(SIGKILL);
    // Repeated, because a process may have been forked between the look and the kill.
    kill_at_ms_ = now + 1000;
    return;
  }
  if (sample_at_ms_ > 0 && now >= sample_at_ms_) SampleMemory();
  const bool runs = paused_at_ms_ == 0;
  if (runs && warn_at_ms_ > 0 && now >= warn_at_ms_) Warn();
  if (runs && deadline_ms_ > 0 && now >= deadline_ms_) {
    TellStop(StopRequest::Cause::kTimeLimit);
    FailPod("DeadlineExceeded", "the pod was active longer than its activeDeadlineSeconds");
  } else if (guard_at_ms_ > 0 && now >= guard_at_ms_) {
    GuardProcesses();
  }
}

// Counts the pod's processes, if no control group bounds them, and kills the pod if they are too
// many.
void PodRunner::GuardProcesses() {
  guard_at_ms_ = MonotonicMs() + kGuardEveryMs;
  if (static_cast<std::int64_t>(Descendants(::getpid()).size()) <= pod_.max_processes) return;
  pod_.grace_period_s = 0;
  FailPod("TooManyProcesses", "the pod had more than " + std::to_string(pod_.max_processes) +
                                  " processes and was killed");
}

// Milliseconds until the next timer; -1: none.
int PodRunner::WaitMs() const {
  std::int64_t next = -1;
  const auto consider = [&next](std::int64_t at) {
    if (at > 0 && (next < 0 || at < next)) next = at;
  };
  if (stopping_) {
    consider(kill_at_ms_);
  } else {
    if (paused_at_ms_ == 0) {
      consider(deadline_ms_);
      consider(warn_at_ms_);
    }
    consider(sample_at_ms_);
    consider(guard_at_ms_);
    for (const auto& container : containers_) {
      if (container->state == State::kWaiting) consider(container->start_at_ms);
    }
  }
  if (next < 0) return -1;
  return static_cast<int>(std::clamp<std::int64_t>(next - MonotonicMs(), 0, 3'600'000));
}

// Moves one piece of output from a pipe to the log.
void PodRunner::PumpOutput(int fd) {
  if (fd == wanted_) return OnAgentWanted();
  if (fd == agent_output_) return PumpAgent();
  char buffer[kPumpBytes];
  for (const auto& container : containers_) {
    if (container->WriteOn(fd)) return container->HoldBack(epoll_);
    if (container->output != fd && container->errors != fd) continue;
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got > 0) {
      container->Record(fd, {buffer, static_cast<std::size_t>(got)});
      container->HoldBack(epoll_);
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      container->CloseOutput(fd);
    }
    return;
  }
}

// Reads what is left in the pipes of an ended container, and closes them.
void PodRunner::DrainOutput(Container* container) {
  char buffer[kPumpBytes];
  for (const int fd : {container->output, container->errors}) {
    if (fd < 0) continue;
    ssize_t got = 0;
    while ((got = ::read(fd, buffer, sizeof buffer)) > 0) {
      container->Record(fd, {buffer, static_cast<std::size_t>(got)});
    }
    container->CloseOutput(fd);
  }
  container->WriteRest(epoll_);
}

bool PodRunner::AllMainsEnded() const {
  return std::all_of(containers_.begin(), containers_.end(), [](const auto& container) {
    return container->spec.role != ContainerRole::kMain || container->state == State::kEnded;
  });
}

bool PodRunner::AnyRunning() const {
  return std::any_of(containers_.begin(), containers_.end(),
                     [](const auto& container) { return container->state == State::kRunning; });
}

std::string PodRunner::Phase() const {
  if (finished_) return failed_ ? "Failed" : "Succeeded";
  return started_us_ == 0 ? "Pending" : "Running";
}

void PodRunner::WriteStatus() {
  PodStatusText text(pod_.name, Phase());
  ProcessInfo self;
  if (ReadProcess(::getpid(), &self)) text.SetSupervisor(self.pid, self.start_ticks);
  text.SetTimes(started_us_, ended_us_);
  text.SetUse(use_.ToJson(), paused_at_ms_ > 0);
  text.SetOutcome(reason_, message_, stop_requested_);
  for (const auto& container : containers_) text.Add(*container, container->StateName());
  const std::string status = text.Render();
  // On a full disk the pod runs on; the next change writes the status again. No change follows the
  // end, and an end that is not on record would count as the death of this process: it waits for
  // room, unless somebody has removed the pod's directory.
  while (!WriteWholeFile("status.json", status, 0600).ok() && finished_ && PathExists("spec.json"))
    ::usleep(kEndAgainUs);
}

}  // namespace muster::local
