// Tasks of one node. Processes that a task leaves behind become children of the agent, which is
// their subreaper; they are known by SLURM_STEP_ID in their environment.
#include "clients/steps/agent/node_tasks.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "clients/steps/agent/process_facts.h"
#include "clients/steps/agent/task_environment.h"
#include "clients/steps/agent/task_start.h"
#include "clients/steps/words.h"

extern char** environ;

namespace muster::steps {
namespace {

// When an ended share is looked for again. A process that is about to run its program has no
// environment for a moment, and one that forks while the kernel lists it may be left out of the
// list; within these times it has become one that can be known.
constexpr std::int64_t kSweepsMs[] = {20, 200, 2000};

std::int64_t Microseconds(const timeval& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000 + time.tv_usec;
}

// Says something to a task's stderr and never waits: what it is may be full, and who reads it
// stopped. A pipe or terminal is opened once more for that, because the task shares the flags of
// the one that it has.
void Say(int fd, const std::string& text) {
  if (fd < 0) return;
  struct stat what {};
  if (::fstat(fd, &what) != 0) return;
  [[maybe_unused]] ssize_t written = 0;
  if (S_ISREG(what.st_mode)) {
    written = ::write(fd, text.data(), text.size());
  } else if (S_ISSOCK(what.st_mode)) {
    written = ::send(fd, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  } else {
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    const Descriptor again(
        ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_APPEND | O_CLOEXEC));
    if (again) written = ::write(again.get(), text.data(), text.size());
  }
}

// A pseudo terminal of the size that srun's has.
bool OpenTerminal(const TaskWorld& world, Descriptor* master, Descriptor* slave) {
  master->reset(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!*master || ::unlockpt(master->get()) != 0) return false;
  // Without a path: /dev/pts of this place may be another one.
  slave->reset(::ioctl(master->get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  winsize size{};
  size.ws_row = static_cast<unsigned short>(world.rows);
  size.ws_col = static_cast<unsigned short>(world.columns);
  ::ioctl(master->get(), TIOCSWINSZ, &size);
  return static_cast<bool>(*slave);
}

// Words about how the task began, on its stderr.
void TellOfStart(const TaskStart& start, const TaskStarted& begun) {
  if (begun.directory_error != 0) {
    Say(start.error, "slurmstepd: error: couldn't chdir to `" + start.directory + "': " +
                         std::strerror(begun.directory_error) + ": going to /tmp instead\n");
  }
  if (begun.error != 0 && begun.pid > 0) {
    Say(start.error,
        "slurmstepd: error: execve"
        "(): " +
            start.arguments[0] + ": " + std::strerror(begun.error) + "\n");
  }
  if (begun.pid < 0) {
    Say(start.error, std::string("slurmstepd: error: fork: ") + std::strerror(begun.error) + "\n");
  }
}

// "cpu-bind=MASK - n1, task  0  0 [4711]: mask 0x1 set", as verbose wants it.
void TellOfBinding(const NodeLaunch& launch, std::size_t local, pid_t pid, bool bound,
                   cpu_set_t cpus, int error) {
  if (!launch.launch.world.bind_verbose) return;
  if (!bound) ::sched_getaffinity(0, sizeof(cpus), &cpus);
  const auto padded = [](std::int64_t number) {
    const std::string text = std::to_string(number);
    return text.size() < 2 ? " " + text : text;
  };
  Say(error, std::string("cpu-bind=") + (bound ? "MASK" : "NONE") + " - " + launch.share.host +
                 ", task " + padded(launch.share.tasks[local]) + " " +
                 padded(static_cast<std::int64_t>(local)) + " [" + std::to_string(pid) +
                 "]: mask " + MaskText(cpus) + (bound ? " set" : "") + "\n");
}

}  // namespace

NodeTasks::NodeTasks(EventLoop* loop, NodeHello node, NodeTaskHooks hooks)
    : loop_(loop), node_(std::move(node)), hooks_(std::move(hooks)) {}

// Starts one task. A task that could not be started has ended already: its status is not -1 then.
TaskEnd NodeTasks::StartOne(const NodeLaunch& launch, std::size_t index, Descriptor (&std_fds)[3],
                            Share* share, const std::vector<std::string>& environment) {
  const TaskWorld& world = launch.launch.world;
  const auto program = static_cast<std::size_t>(launch.launch.tasks[index].program);
  TaskEnd end;
  end.task = launch.share.tasks[index];
  end.status = -1;
  TaskStart start;
  start.arguments = launch.launch.programs[program].arguments;
  start.environment = environment;
  AddTaskVariables(launch, index, &start.environment);
  start.directory = world.directory;
  start.umask = world.umask;
  start.limits = world.limits;
  Descriptor master;
  if (world.terminal) {
    Descriptor slave;
    if (OpenTerminal(world, &master, &slave)) std_fds[0] = std::move(slave);
    start.terminal = true;
    start.input = start.output = start.error = std_fds[0].get();
  } else {
    start.input = std_fds[0].get();
    start.output = std_fds[1].get();
    start.error = std_fds[2].get();
  }
  Descriptor pmi;
  if (share->pmi != nullptr) {
    pmi = share->pmi->AddTask(end.task);
    start.keep = pmi.get();
    SetVariable(&start.environment, "PMI_FD", std::to_string(pmi.get()));
    SetVariable(&start.environment, "PMI_RANK", std::to_string(end.task));
    SetVariable(&start.environment, "PMI_SIZE", std::to_string(launch.size));
    SetVariable(&start.environment, "PMI_JOBID", launch.job + "." + std::to_string(launch.step));
  }
  cpu_set_t cpus;
  const bool bound = TaskCpus(launch, index, &cpus);
  start.cpus = bound ? &cpus : nullptr;
  const TaskStarted begun = StartTask(start);
  TellOfStart(start, begun);
  if (begun.pid < 0) {
    end.status = begun.error << 8;
    return end;
  }
  TellOfBinding(launch, index, begun.pid, bound, cpus, start.error);
  by_pid_[begun.pid] = {launch.step, launch.share.part};
  Task task;
  task.task = end.task;
  task.pid = begun.pid;
  share->tasks.push_back(std::move(task));
  ++share->running;
  if (world.terminal) hooks_.terminal(launch.step, std::move(master));
  return end;
}

void NodeTasks::Start(const NodeLaunch& launch, std::vector<Descriptor> descriptors) {
  if (shares_.empty()) memory_kills_.Forget();
  Share& share = shares_[{launch.step, launch.share.part}];
  share.step = launch.step;
  share.part = launch.share.part;
  const std::size_t count = launch.share.tasks.size();
  const bool terminal = launch.launch.world.terminal;
  bool sound = launch.launch.tasks.size() == count &&
               (terminal ? count == 1 : descriptors.size() == 3 * count);
  for (const TaskPlan& plan : launch.launch.tasks) {
    const auto at = static_cast<std::size_t>(plan.program);
    sound = sound && at < launch.launch.programs.size() &&
            !launch.launch.programs[at].arguments.empty();
  }
  if (launch.launch.world.pmi == 2) {
    share.pmi =
        std::make_unique<Pmi2Server>(loop_,
                                     Pmi2Step{launch.step, launch.share.part, launch.job,
                                              launch.size, launch.share.tasks, launch.mapping},
                                     hooks_.fence, [this, step = launch.step] {
                                       Signal({step, SIGKILL});
                                     });
  }
  std::vector<std::vector<std::string>> environments;
  for (const Program& program : launch.launch.programs) {
    environments.push_back(ShareEnvironment(launch, program.environment, environ));
  }
  TasksEnded failed{launch.step, launch.share.host, {}};
  for (std::size_t i = 0; i < count; ++i) {
    TaskEnd end;
    end.task = launch.share.tasks[i];
    end.status = EINVAL << 8;
    if (sound) {
      Descriptor std_fds[3];
      for (std::size_t k = 0; k < 3 && !terminal; ++k)
        std_fds[k] = std::move(descriptors[3 * i + k]);
      const auto program = static_cast<std::size_t>(launch.launch.tasks[i].program);
      end = StartOne(launch, i, std_fds, &share, environments[program]);
    }
    if (end.status != -1) failed.ends.push_back(end);
  }
  if (!failed.ends.empty()) hooks_.ended(failed);
  if (share.running == 0) Finish(&share);
}

void NodeTasks::Signal(const StepSignal& signal) {
  for (auto& [key, share] : shares_) {
    if (key.first != signal.step) continue;
    for (const Task& task : share.tasks) {
      if (!task.ended) ::kill(-task.pid, signal.signal);
    }
    if (signal.signal == SIGKILL) KillStrays({share.step, share.part, EndedTasks(share)});
  }
}

void NodeTasks::Fenced(const KvsFence& all) {
  const auto at = shares_.find({all.step, all.part});
  if (at != shares_.end() && at->second.pmi != nullptr) at->second.pmi->Fenced(all.pairs);
}

void NodeTasks::KillAll() {
  for (auto& [key, share] : shares_) {
    for (const Task& task : share.tasks) {
      if (!task.ended) ::kill(-task.pid, SIGKILL);
    }
    KillStrays({share.step, share.part, EndedTasks(share)});
  }
}

// Looks at an ended process before it is reaped: afterwards nothing tells what it has read.
void NodeTasks::Reap() {
  std::map<std::int32_t, TasksEnded> ended;  // by step
  std::vector<Key> touched;
  while (true) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) break;
    const pid_t pid = info.si_pid;
    const auto known = by_pid_.find(pid);
    TaskEnd end;
    if (known != by_pid_.end()) ReadIo(pid, &end.read_bytes, &end.written_bytes);
    rusage use{};
    int status = 0;
    if (::wait4(pid, &status, WNOHANG, &use) != pid) break;
    if (known == by_pid_.end()) continue;
    const Key key = known->second;
    by_pid_.erase(known);
    Share& share = shares_[key];
    for (Task& task : share.tasks) {
      if (task.pid != pid || task.ended) continue;
      task.ended = true;
      end.task = task.task;
    }
    --share.running;
    end.status = status;
    end.out_of_memory = memory_kills_.Explains(status);
    end.user_us = Microseconds(use.ru_utime);
    end.system_us = Microseconds(use.ru_stime);
    end.max_rss = use.ru_maxrss * std::int64_t{1024};
    TasksEnded& list = ended[key.first];
    list.step = key.first;
    list.host = node_.host;
    list.ends.push_back(end);
    if (std::find(touched.begin(), touched.end(), key) == touched.end()) touched.push_back(key);
  }
  for (auto& [step, list] : ended) {
    std::sort(list.ends.begin(), list.ends.end(),
              [](const TaskEnd& a, const TaskEnd& b) { return a.task < b.task; });
    hooks_.ended(list);
  }
  for (const Key& key : touched) {
    const auto at = shares_.find(key);
    if (at != shares_.end() && at->second.running == 0) Finish(&at->second);
  }
}

// All its tasks have been reaped, so their numbers may be those of other processes by now: what is
// left of them is found as children of this process, which it alone can reap.
void NodeTasks::Finish(Share* share) {
  const Remains remains{share->step, share->part, EndedTasks(*share)};
  shares_.erase({remains.step, remains.part});
  KillStrays(remains);
  for (const std::int64_t after_ms : kSweepsMs) {
    loop_->After(after_ms, [this, remains] { KillStrays(remains); });
  }
  hooks_.done({remains.step, remains.part});
}

std::vector<pid_t> NodeTasks::EndedTasks(const Share& share) {
  std::vector<pid_t> out;
  for (const Task& task : share.tasks) {
    if (task.ended) out.push_back(task.pid);
  }
  return out;
}

// Where no task runs, every child was left behind. Beside tasks of other steps it is one that is of
// the step by its environment, or is in the session or group of an ended task; a number of those
// that a new task has is not meant.
void NodeTasks::KillStrays(const Remains& remains) {
  const auto was_of = [&](pid_t number) {
    return !by_pid_.contains(number) &&
           std::find(remains.tasks.begin(), remains.tasks.end(), number) != remains.tasks.end();
  };
  const pid_t self = ::getpid();
  for (const pid_t child : ChildrenOf(self)) {
    if (by_pid_.contains(child)) continue;
    if (by_pid_.empty() || StepOfProcess(child) == remains.step || was_of(::getsid(child)) ||
        was_of(::getpgid(child)))
      KillTree(child, self);
  }
}

}  // namespace muster::steps
