// Reads /proc by plain system calls.
#include "clients/steps/agent/process_facts.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>

#include "clients/steps/descriptor.h"
#include "clients/steps/proc_file.h"
#include "clients/steps/words.h"

namespace muster::steps {
namespace {

std::int64_t NumberBehind(std::string_view text, std::string_view name) {
  const auto at = text.find(name);
  if (at == std::string_view::npos) return 0;
  text.remove_prefix(at + name.size());
  return WholeNumber(text.substr(0, text.find('\n'))).value_or(0);
}

// The value of a variable in an environment of /proc; nullptr as data if there is none.
std::string_view ValueIn(std::string_view environment, std::string_view name_and_sign) {
  while (!environment.empty()) {
    const std::string_view one = environment.substr(0, environment.find('\0'));
    if (one.starts_with(name_and_sign)) return one.substr(name_and_sign.size());
    environment.remove_prefix(std::min(one.size() + 1, environment.size()));
  }
  return {};
}

std::int32_t StepIn(std::string_view environment) {
  const auto step = WholeNumber(ValueIn(environment, "SLURM_STEP_ID="));
  return step && *step < 1'000'000'000 ? static_cast<std::int32_t>(*step) : -1;
}

// The parent of a process; -1 if there is none of that number.
pid_t ParentOf(pid_t pid) {
  const std::string text = ReadProc(pid, "stat");
  // The command, in parentheses, may hold anything.
  const auto close = text.rfind(')');
  if (close == std::string::npos) return -1;
  const std::vector<std::string> words = SplitWords(text.substr(close + 1));
  return words.size() < 2 ? -1 : static_cast<pid_t>(WholeNumber(words[1]).value_or(-1));
}

}  // namespace

void ReadIo(pid_t pid, std::int64_t* read, std::int64_t* written) {
  const std::string text = ReadProc(pid, "io");
  if (text.empty()) return;
  *read = NumberBehind(text, "rchar: ");
  *written = NumberBehind(text, "wchar: ");
}

std::vector<pid_t> ChildrenOf(pid_t pid) {
  std::vector<pid_t> out;
  const std::string text = ReadProc(pid, ("task/" + std::to_string(pid) + "/children").c_str());
  for (const std::string& word : SplitWords(text)) {
    if (const auto child = WholeNumber(word)) out.push_back(static_cast<pid_t>(*child));
  }
  return out;
}

std::int32_t StepOfProcess(pid_t pid) { return StepIn(ReadProc(pid, "environ")); }

ProcessHandle::ProcessHandle(pid_t pid)
    : pid_(pid),
      fd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))),
      without_handles_(!fd_ && errno == ENOSYS) {}

// A kernel without such descriptors can only be asked by the number.
bool ProcessHandle::Signal(int signal) const {
  if (fd_) return ::syscall(SYS_pidfd_send_signal, fd_.get(), signal, nullptr, 0) == 0;
  return without_handles_ && ::kill(pid_, signal) == 0;
}

void KillTree(pid_t pid, pid_t parent) {
  const ProcessHandle process(pid);
  // The handle is of whoever had the number when it was made. If that one is the parent's child
  // now, no stranger can be behind the handle: its process has either this number or has ended.
  if (ParentOf(pid) != parent) return;
  // Stopped first, so that it makes no more children while they are looked for.
  process.Signal(SIGSTOP);
  for (const pid_t child : ChildrenOf(pid)) KillTree(child, pid);
  process.Signal(SIGKILL);
}

void KillProcessesOf(const std::string& steps_directory, std::int32_t step) {
  DIR* proc = ::opendir("/proc");
  if (proc == nullptr) return;
  while (const dirent* entry = ::readdir(proc)) {
    const auto pid = WholeNumber(entry->d_name);
    if (!pid || *pid <= 1) continue;
    const ProcessHandle process(static_cast<pid_t>(*pid));
    const std::string environment = ReadProc(static_cast<pid_t>(*pid), "environ");
    if (StepIn(environment) != step) continue;
    if (ValueIn(environment, "MUSTER_STEPS_DIR=") != steps_directory) continue;
    process.Signal(SIGKILL);
  }
  ::closedir(proc);
}

std::vector<std::int32_t> OwnCpus() {
  std::vector<std::int32_t> out;
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (::sched_getaffinity(0, sizeof(cpus), &cpus) != 0) return out;
  for (std::int32_t i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(static_cast<std::size_t>(i), &cpus)) out.push_back(i);
  }
  return out;
}

}  // namespace muster::steps
