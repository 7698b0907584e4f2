// One loop over the manager's connection, signals, stdin and the outputs of all tasks.
#include "clients/steps/srun/step_run.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>

#include "clients/steps/words.h"

namespace muster::steps {
namespace {

// Ends of tasks that come together are told in one line.
constexpr std::int64_t kTogetherMs = 30;
// Two interrupts within this time end the step.
constexpr std::int64_t kTwiceMs = 1000;
// Output that is still on its way when all tasks have ended.
constexpr std::int64_t kDrainMs = 1000;

std::int64_t NowMs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

void Put(int fd, const char* data, std::size_t size) {
  [[maybe_unused]] const ssize_t written = ::write(fd, data, size);
}

void SayError(const std::string& text) { std::fprintf(stderr, "srun: error: %s\n", text.c_str()); }

}  // namespace

Descriptor WatchForwardedSignals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH})
    ::sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return Descriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

StepRun::StepRun(Channel* channel, const StepCreated& step, RunSettings settings, StepIo* io,
                 int signals)
    : channel_(channel), step_(step), settings_(std::move(settings)), io_(io), signals_(signals) {
  for (const NodeShare& share : step.shares) {
    for (const std::int32_t task : share.tasks) running_[task] = true;
  }
  io_->SetBusy([this] {
    ReadSignals();
    channel_->Flush();
  });
}

void StepRun::Info(const std::string& text) const {
  if (!settings_.quiet) std::fprintf(stderr, "srun: %s\n", text.c_str());
}

int StepRun::Run() {
  if (settings_.terminal) terminal_.MakeRaw();
  while (Wait()) {
  }
  for (auto& stream : io_->streams()) stream->Finish();
  terminal_.Restore();
  SayFailed();
  return exit_;
}

int StepRun::Timeout() const {
  if (ended_) return static_cast<int>(kDrainMs);
  if (channel_->stalled()) return kStalledMs;
  if (!failed_.empty()) return static_cast<int>(kTogetherMs);
  if (settings_.wait_s > 0 && first_end_ms_ > 0 && !aborted_) return 200;
  return -1;
}

// One round; false when everything is done.
bool StepRun::Wait() {
  auto& streams = io_->streams();
  std::erase_if(streams, [](const auto& stream) { return !stream->from; });
  if (ended_ && streams.empty() && !master_) return false;
  std::vector<pollfd> fds;
  const auto add = [&](int fd, int events) { fds.push_back({fd, static_cast<short>(events), 0}); };
  add(ended_ ? -1 : channel_->fd(), POLLIN | (channel_->wants_write() ? POLLOUT : 0));
  add(signals_, POLLIN);
  bool hungry = !io_->feeds().empty() || master_;
  bool pending = false;
  for (const StdinFeed& feed : io_->feeds()) pending = pending || !feed.pending.empty();
  hungry = hungry && !pending && input_open_ && !ended_;
  add(hungry ? 0 : -1, POLLIN);
  add(master_ ? master_.get() : -1, POLLIN);
  for (const auto& stream : streams) add(stream->from.get(), POLLIN);
  for (const StdinFeed& feed : io_->feeds()) {
    if (!feed.pending.empty()) add(feed.to.get(), POLLOUT);
  }
  const int got = ::poll(fds.data(), fds.size(), Timeout());
  if (got == 0 && ended_) return false;  // somebody outside the step holds a pipe open
  if (fds[1].revents != 0) ReadSignals();
  if (fds[2].revents != 0) ReadInput();
  if (fds[3].revents != 0) ReadTerminal();
  for (std::size_t i = 0; i < streams.size(); ++i) {
    if (fds[4 + i].revents != 0 && !streams[i]->Read()) streams[i]->Finish();
  }
  if (pending) FeedTasks();
  if (fds[0].revents != 0 || channel_->stalled()) ReadChannel();
  CheckTimers();
  return !lost_ || !streams.empty();
}

void StepRun::CheckTimers() {
  if (!failed_.empty() && NowMs() - failed_at_ms_ >= kTogetherMs) SayFailed();
  if (settings_.wait_s > 0 && first_end_ms_ > 0 && !aborted_ && !ended_ &&
      NowMs() - first_end_ms_ >= settings_.wait_s * 1000) {
    Info("First task exited " + std::to_string(settings_.wait_s) + "s ago");
    SayTasks();
    Abort("Terminating StepId=" + settings_.job + "." + std::to_string(step_.step), kTerminateNow);
  }
}

void StepRun::ReadChannel() {
  channel_->Flush();
  const bool open = channel_->Receive();
  while (std::optional<Frame> frame = channel_->Next()) OnFrame(std::move(*frame));
  if ((open && !channel_->broken()) || ended_) return;
  // Its tasks are killed with it.
  SayFailed();
  SayError("the step manager on " + step_.manager_host + " is gone: StepId=" + settings_.job + "." +
           std::to_string(step_.step) + " was ended");
  ended_ = lost_ = true;
  master_.reset();
  exit_ = std::max(exit_, 1);
}

void StepRun::OnFrame(Frame frame) {
  switch (frame.type) {
    case MessageType::kExited:
      if (const auto ended = Decode<TasksEnded>(frame.payload)) OnExited(*ended);
      return;
    case MessageType::kNotice:
      if (const auto words = Decode<Words>(frame.payload)) {
        SayFailed();
        std::fputs(words->text.c_str(), stderr);
      }
      return;
    case MessageType::kTerminal:
      if (!frame.descriptors.empty()) master_ = std::move(frame.descriptors.front());
      return;
    case MessageType::kCopyOutput:
      if (frame.descriptors.size() == 2)
        io_->AddCopies(std::move(frame.descriptors[0]), std::move(frame.descriptors[1]));
      return;
    case MessageType::kRefused:
      if (const auto words = Decode<Words>(frame.payload)) SayError(words->text);
      exit_ = std::max(exit_, 1);
      ended_ = true;
      return;
    case MessageType::kEnded:
      ended_ = true;
      if (const auto how = Decode<StepEnded>(frame.payload); how && how->timed_out) {
        SayFailed();
        Info("Force Terminated StepId=" + settings_.job + "." + std::to_string(step_.step));
      }
      return;
    default:
      return;
  }
}

void StepRun::OnExited(const TasksEnded& ended) {
  if (first_end_ms_ == 0) first_end_ms_ = NowMs();
  bool bad = false;
  for (const TaskEnd& end : ended.ends) {
    running_[end.task] = false;
    exit_ = std::max(exit_, ExitOf(end.status));
    if (end.status == 0) continue;
    bad = true;
    if (failed_.empty()) failed_at_ms_ = NowMs();
    const auto same = std::find_if(failed_.begin(), failed_.end(), [&](const Failed& one) {
      return one.host == ended.host && one.status == end.status;
    });
    if (same != failed_.end()) {
      same->tasks.push_back(end.task);
    } else {
      failed_.push_back({ended.host, end.status, {end.task}});
    }
  }
  if (bad && settings_.kill_on_bad_exit && !aborted_ &&
      std::any_of(running_.begin(), running_.end(), [](const auto& one) { return one.second; })) {
    SayFailed();
    Abort("Terminating StepId=" + settings_.job + "." + std::to_string(step_.step),
          kTerminateBadExit);
  }
}

void StepRun::SayFailed() {
  for (Failed& one : failed_) {
    // Who asks for it need not be told.
    if (interrupted_ && one.status == SIGINT) continue;
    if (settings_.once_per_code && std::exchange(told_codes_[one.status], true)) continue;
    std::sort(one.tasks.begin(), one.tasks.end());
    SayError(one.host + ": " + TaskList(one.tasks) + ": " + EndOf(one.status));
  }
  failed_.clear();
}

// "StepId=7.0 tasks 0-2: running", and those that have exited.
void StepRun::SayTasks() {
  std::vector<std::int32_t> run, exited;
  for (const auto& [task, runs] : running_) (runs ? run : exited).push_back(task);
  const std::string step = "StepId=" + settings_.job + "." + std::to_string(step_.step) + " ";
  if (!run.empty()) Info(step + TaskList(run) + ": running");
  if (!exited.empty()) Info(step + TaskList(exited) + ": exited");
}

void StepRun::SendSignal(int signal) {
  if (!ended_) channel_->Send(MessageType::kSignal, Encode(StepSignal{step_.step, signal}));
}

void StepRun::Abort(const std::string& why, int how) {
  if (std::exchange(aborted_, true)) return;
  Info(why);
  SendSignal(how);
}

void StepRun::ReadSignals() {
  signalfd_siginfo info{};
  while (::read(signals_, &info, sizeof(info)) == sizeof(info)) {
    switch (info.ssi_signo) {
      case SIGINT:
        OnInterrupt();
        break;
      case SIGTERM:
      case SIGHUP:
      case SIGQUIT:
        Abort("forcing job termination", kTerminate);
        break;
      case SIGWINCH:
        if (master_) CopyTerminalSize(master_.get());
        break;
      default:
        SendSignal(static_cast<int>(info.ssi_signo));
    }
  }
}

void StepRun::OnInterrupt() {
  if (settings_.disable_status && !aborted_) {
    Info("sending Ctrl-C to StepId=" + settings_.job + "." + std::to_string(step_.step));
    SendSignal(SIGINT);
    return;
  }
  const std::int64_t now = NowMs();
  const bool twice = interrupts_ > 0 && now - interrupt_ms_ < kTwiceMs;
  ++interrupts_;
  interrupt_ms_ = now;
  if (aborted_) {  // a third one waits for nothing
    SendSignal(SIGKILL);
    Info("forcing termination");
    return;
  }
  if (twice || settings_.quit_on_interrupt) {
    Info("sending Ctrl-C to StepId=" + settings_.job + "." + std::to_string(step_.step));
    SendSignal(SIGINT);
    interrupted_ = true;
    Abort("forcing job termination", kTerminate);
    return;
  }
  Info("interrupt (one more within 1 sec to abort)");
  SayTasks();
}

// From stdin to the tasks that are fed, or to the terminal of the task.
void StepRun::ReadInput() {
  char buffer[16 << 10];
  const ssize_t got = ::read(0, buffer, sizeof(buffer));
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    input_open_ = false;
    io_->feeds().clear();
    // The key that means the end of the input.
    if (master_) Put(master_.get(), "\4", 1);
    return;
  }
  const auto size = static_cast<std::size_t>(got);
  if (master_) Put(master_.get(), buffer, size);
  for (StdinFeed& feed : io_->feeds()) feed.pending.assign(buffer, size);
  FeedTasks();
}

void StepRun::FeedTasks() {
  std::erase_if(io_->feeds(), [](StdinFeed& feed) {
    if (feed.pending.empty()) return false;
    const ssize_t put = ::write(feed.to.get(), feed.pending.data(), feed.pending.size());
    if (put > 0) feed.pending.erase(0, static_cast<std::size_t>(put));
    return put < 0 && errno != EAGAIN && errno != EINTR;
  });
}

void StepRun::ReadTerminal() {
  char buffer[16 << 10];
  const ssize_t got = ::read(master_.get(), buffer, sizeof(buffer));
  if (got > 0) return io_->out().Write({buffer, static_cast<std::size_t>(got)});
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  master_.reset();
}

}  // namespace muster::steps
