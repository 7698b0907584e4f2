// Sockets, signals and the wiring between the manager and the tasks.
#include "clients/steps/agent/agent.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "clients/steps/agent/process_facts.h"
#include "clients/steps/words.h"

namespace muster::steps {
namespace {

// An allocation that is given back leaves its tasks this long between SIGTERM and SIGKILL.
constexpr std::int64_t kRelinquishMs = 2'000;

// Three descriptors a task: as many as the hard limit allows.
void RaiseDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

Agent::Agent(JobFacts facts) : facts_(std::move(facts)) {}
Agent::~Agent() = default;

Agent::Begin Agent::Start(std::string* error) {
  directory_.reset(::open(facts_.steps_directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory_) {
    *error = "MUSTER_STEPS_DIR: " + std::string(std::strerror(errno));
    return Begin::kFailed;
  }
  const std::string lock = facts_.host + ".lock";
  lock_.reset(::openat(directory_.get(), lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock_) {
    *error = lock + ": " + std::strerror(errno);
    return Begin::kFailed;
  }
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) return Begin::kTaken;
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  RaiseDescriptorLimit();
  hello_.host = facts_.host;
  hello_.cpus = OwnCpus();
  hello_.gpus = OwnGpus();
  NodeTaskHooks hooks;
  if (facts_.first_node) {
    manager_ = std::make_unique<Manager>(&loop_, facts_, directory_.get());
    manager_->WhenIdle([this] { StopWhenIdle(); });
    hooks.ended = [this](const TasksEnded& ended) { manager_->OnEnded(ended); };
    hooks.done = [this](const ShareNumber& done) { manager_->OnDone(done, facts_.host); };
    hooks.terminal = [this](std::int32_t step, Descriptor master) {
      manager_->OnTerminal(step, std::move(master));
    };
    hooks.fence = [this](const KvsFence& fence) { manager_->OnFence(fence); };
  } else {
    hooks.ended = [this](const TasksEnded& ended) {
      SendToManager(MessageType::kNodeExited, Encode(ended));
    };
    hooks.done = [this](const ShareNumber& done) {
      SendToManager(MessageType::kNodeDone, Encode(done));
      StopWhenIdle();
    };
    hooks.terminal = [this](std::int32_t step, Descriptor master) {
      std::vector<Descriptor> one;
      one.push_back(std::move(master));
      SendToManager(MessageType::kTerminal, Encode(ShareNumber{step, 0}), std::move(one));
    };
    hooks.fence = [this](const KvsFence& fence) {
      SendToManager(MessageType::kKvsFence, Encode(fence));
    };
  }
  tasks_ = std::make_unique<NodeTasks>(&loop_, hello_, std::move(hooks));
  if (manager_ != nullptr) manager_->SetOwnNode(tasks_.get(), hello_);
  WatchSignals();
  WatchMarkers();
  const bool listens =
      manager_ != nullptr
          ? Listen("manager.sock", [this](Descriptor one) { manager_->Serve(std::move(one)); })
          : Listen(facts_.host + ".sock", [this](Descriptor one) { ServeManager(std::move(one)); });
  if (listens) return Begin::kServes;
  *error = "cannot listen in the steps directory: " + std::string(std::strerror(errno));
  return Begin::kFailed;
}

bool Agent::Listen(const std::string& name, std::function<void(Descriptor)> serve) {
  Descriptor socket = ListenIn(directory_.get(), name);
  if (!socket) return false;
  const int fd = socket.get();
  listening_.push_back(std::move(socket));
  loop_.Watch(fd, [fd, serve = std::move(serve)] {
    Descriptor one(::accept4(fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (one && PeerIsOwner(one.get())) serve(std::move(one));
  });
  return true;
}

// A newer connection of the manager replaces the older one, whose tasks are ended.
void Agent::ServeManager(Descriptor socket) {
  if (to_manager_ != nullptr) LoseManager();
  to_manager_ = std::make_unique<Channel>(std::move(socket));
  loop_.Watch(to_manager_->fd(), [this] { ReadManager(); });
  SendToManager(MessageType::kNodeHello, Encode(hello_));
}

void Agent::SendToManager(MessageType type, std::string payload,
                          std::vector<Descriptor> descriptors) {
  if (to_manager_ == nullptr) return;
  to_manager_->Send(type, std::move(payload), std::move(descriptors));
  loop_.WantWrite(*to_manager_);
}

void Agent::ReadManager() {
  to_manager_->Flush();
  const bool open = to_manager_->Receive();
  while (true) {
    std::optional<Frame> frame = to_manager_->Next();
    if (!frame) break;
    if (frame->type == MessageType::kNodeLaunch) {
      if (const auto launch = Decode<NodeLaunch>(frame->payload))
        tasks_->Start(*launch, std::move(frame->descriptors));
    } else if (frame->type == MessageType::kNodeSignal) {
      if (const auto signal = Decode<StepSignal>(frame->payload)) tasks_->Signal(*signal);
    } else if (frame->type == MessageType::kKvsFenced) {
      if (const auto fence = Decode<KvsFence>(frame->payload)) tasks_->Fenced(*fence);
    }
  }
  if (!open || to_manager_->broken()) return LoseManager();
  loop_.WantWrite(*to_manager_);
}

// Without its manager no task of this node has anybody who waits for it.
void Agent::LoseManager() {
  loop_.Forget(to_manager_->fd());
  to_manager_.reset();
  tasks_->KillAll();
}

void Agent::WatchSignals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM})
    ::sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  signals_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  loop_.Watch(signals_.get(), [this] { OnSignal(); });
}

// Signals for the whole job reach the agent too; only SIGTERM means something to it.
void Agent::OnSignal() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo == SIGTERM) stopping_ = true;
  }
  // First what the member has said: it explains how tasks have ended.
  if (markers_) OnMarkers();
  tasks_->Reap();
  StopWhenIdle();
}

void Agent::StopWhenIdle() {
  if (stopping_ && tasks_->idle() && (manager_ == nullptr || manager_->idle())) loop_.Stop();
}

// The member says by a file "cancelled.STEP" that it is going to end a step, by "stopped" that it
// is going to end all of them.
void Agent::WatchMarkers() {
  if (manager_ == nullptr) return;
  markers_.reset(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!markers_) return;
  const std::string path = "/proc/self/fd/" + std::to_string(directory_.get());
  ::inotify_add_watch(markers_.get(), path.c_str(), IN_CREATE | IN_MOVED_TO);
  loop_.Watch(markers_.get(), [this] { OnMarkers(); });
}

void Agent::OnMarkers() {
  alignas(inotify_event) char buffer[16 << 10];
  const ssize_t got = ::read(markers_.get(), buffer, sizeof(buffer));
  for (ssize_t at = 0; at + static_cast<ssize_t>(sizeof(inotify_event)) <= got;) {
    const auto* event = reinterpret_cast<const inotify_event*>(buffer + at);
    at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    static constexpr std::string_view kMarker = "cancelled.";
    const std::string_view name = event->len > 0 ? event->name : "";
    if (name == "stopped") manager_->OnStopped();
    if (!name.starts_with(kMarker)) continue;
    const auto step = WholeNumber(name.substr(kMarker.size()));
    if (step && *step < 1'000'000'000) manager_->OnCancelled(static_cast<std::int32_t>(*step));
  }
}

void Agent::KeepAllocation(Descriptor socket) {
  allocation_ = std::make_unique<Channel>(std::move(socket));
  AllocationReady ready{facts_.steps_directory, OwnVariable("MUSTER_STEP_AGENT"), {}};
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view one = *at;
    if (one.starts_with("SLURM_") || one.starts_with("CUDA_VISIBLE_DEVICES="))
      ready.environment.emplace_back(one);
  }
  // Unless the client dies, it says with which status the job ends.
  status_ = 1;
  allocation_->Send(MessageType::kAllocation, Encode(ready));
  loop_.Watch(allocation_->fd(), [this] { ReadAllocation(); });
}

void Agent::ReadAllocation() {
  allocation_->Flush();
  const bool open = allocation_->Receive();
  while (std::optional<Frame> frame = allocation_->Next()) {
    const auto said = Decode<StepSignal>(frame->payload);
    if (frame->type != MessageType::kRelinquish || !said) continue;
    status_ = said->signal & 0xff;
    detached_ = said->step == kDetach;
  }
  if (open && !allocation_->broken()) return;
  loop_.Forget(allocation_->fd());
  allocation_.reset();
  if (detached_) return;
  stopping_ = true;
  StopWhenIdle();
  loop_.After(kRelinquishMs, [this] {
    tasks_->KillAll();
    loop_.Stop();
  });
}

int Agent::Run() {
  loop_.Run();
  tasks_->KillAll();
  return status_;
}

}  // namespace muster::steps
