// Processes by /proc. Nothing here is atomic: processes may appear and end between a look and a
// signal, so callers repeat until nothing is found.
#include "backends/local/process/process_tree.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "backends/local/process/files.h"

namespace muster::local {
namespace {

// More than the kernel takes at an exec (6 MiB). A process may say afterwards that its environment
// is any part of its memory (PR_SET_MM_MAP), however large.
constexpr std::size_t kEnvironmentBytes = 8 << 20;
// Who forks faster than this many passes get round is left to SIGKILL.
constexpr int kSignalPasses = 20;

}  // namespace

bool ReadProcess(pid_t pid, ProcessInfo* out) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(pid));
  const Result<std::string> text = ReadWholeFile(path);
  if (!text.ok()) return false;
  // The command is in parentheses and may contain spaces and parentheses itself, so the fields are
  // counted from the last one.
  const std::size_t close = text->rfind(')');
  if (close == std::string::npos) return false;
  int parent = 0, group = 0, session = 0;
  unsigned long long start = 0;
  char state = '?';
  const int fields =
      std::sscanf(text->c_str() + close + 1,
                  " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                  &state, &parent, &group, &session, &start);
  if (fields != 5) return false;
  *out = {pid, parent, session, state, start};
  return true;
}

std::vector<ProcessInfo> AllProcesses() {
  std::vector<ProcessInfo> all;
  for (const std::string& name : ListDirectory("/proc")) {
    if (name[0] < '1' || name[0] > '9') continue;
    ProcessInfo info;
    if (ReadProcess(static_cast<pid_t>(std::atoi(name.c_str())), &info)) all.push_back(info);
  }
  return all;
}

// Walks the parent links of one snapshot of /proc. A zombie is passed through: its children may
// live.
std::vector<pid_t> Descendants(pid_t root) {
  std::multimap<pid_t, const ProcessInfo*> children;
  const std::vector<ProcessInfo> all = AllProcesses();
  for (const ProcessInfo& process : all) children.emplace(process.parent, &process);
  std::vector<pid_t> found, todo{root};
  while (!todo.empty()) {
    const auto [first, last] = children.equal_range(todo.back());
    todo.pop_back();
    for (auto child = first; child != last; ++child) {
      todo.push_back(child->second->pid);
      if (child->second->state != 'Z') found.push_back(child->second->pid);
    }
  }
  return found;
}

// A process that was forked while the others were signalled is found by the next pass, which
// signals only those that are new.
int SignalDescendants(pid_t root, int signal) {
  std::set<std::pair<pid_t, std::uint64_t>> reached;  // by pid and start
  for (int pass = 0; pass < kSignalPasses; ++pass) {
    bool found = false;
    for (const pid_t pid : Descendants(root)) {
      ProcessInfo info;
      if (!ReadProcess(pid, &info) || reached.contains({pid, info.start_ticks})) continue;
      if (!SignalIfSame(pid, info.start_ticks, signal)) continue;
      reached.emplace(pid, info.start_ticks);
      found = true;
    }
    if (!found) break;
  }
  return static_cast<int>(reached.size());
}

// Between two passes it waits for one of the killed processes, 20 ms at most.
bool KillDescendants(pid_t root, int passes) {
  for (int pass = 0; pass < passes; ++pass) {
    const std::vector<pid_t> found = Descendants(root);
    if (found.empty()) return true;
    for (const pid_t pid : found) ::kill(pid, SIGSTOP);
    for (const pid_t pid : found) ::kill(pid, SIGKILL);
    AwaitEnd(found.front(), 20);
  }
  return Descendants(root).empty();
}

// A pidfd becomes readable when its process ends.
void AwaitEnd(pid_t pid, int milliseconds) {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  // The process has ended already.
  if (fd < 0) return;
  pollfd ended{fd, POLLIN, 0};
  ::poll(&ended, 1, milliseconds);
  ::close(fd);
}

bool SignalIfSame(pid_t pid, std::uint64_t start_ticks, int signal) {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  // The descriptor names one process for good: if it is the right one now, no other is signalled.
  ProcessInfo now;
  const bool same = ReadProcess(pid, &now) && now.start_ticks == start_ticks;
  // A kernel without such descriptors can only be asked by the number.
  const bool sent =
      same && (fd < 0 ? ::kill(pid, signal) == 0
                      : ::syscall(SYS_pidfd_send_signal, fd, signal, nullptr, 0) == 0);
  if (fd >= 0) ::close(fd);
  return sent;
}

std::optional<std::string> EnvironmentOf(pid_t pid, std::string_view name) {
  const Result<std::string> environment =
      ReadWholeFile("/proc/" + std::to_string(pid) + "/environ", kEnvironmentBytes);
  if (!environment.ok()) return std::nullopt;
  for (std::string_view rest = *environment; !rest.empty();) {
    const std::size_t end = rest.find('\0');
    const std::string_view entry = rest.substr(0, end);
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
      return std::string(entry.substr(name.size() + 1));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return std::nullopt;
}

// The second number of statm counts resident pages.
std::int64_t ResidentBytes(pid_t pid) {
  const Result<std::string> text = ReadWholeFile("/proc/" + std::to_string(pid) + "/statm");
  long long pages = 0;
  if (!text.ok() || std::sscanf(text->c_str(), "%*d %lld", &pages) != 1) return 0;
  return pages * ::sysconf(_SC_PAGESIZE);
}

namespace {

// A process has neither arguments nor an environment from the moment at which exec replaces its
// memory until the new program is in place, nor after it has given up its memory at its end.
bool BeginsOrEnds(pid_t pid) {
  constexpr pid_t kKernelThreads = 2;
  ProcessInfo info;
  if (!ReadProcess(pid, &info) || info.state == 'Z' || info.state == 'X') return false;
  if (pid == kKernelThreads || info.parent == kKernelThreads) return false;
  const Result<std::string> words = ReadWholeFile("/proc/" + std::to_string(pid) + "/cmdline");
  return words.ok() && words->empty();
}

bool HasEntry(std::string_view environment, std::string_view marker) {
  while (!environment.empty()) {
    const std::size_t end = environment.find('\0');
    if (environment.substr(0, end) == marker) return true;
    environment.remove_prefix(end == std::string_view::npos ? environment.size() : end + 1);
  }
  return false;
}

// Whether the process was killed because it has the entry; `unclear`: it cannot be told now.
bool KillIfMarked(pid_t pid, std::string_view marker, bool* unclear) {
  const auto read = [path = "/proc/" + std::to_string(pid) + "/environ"] {
    return ReadWholeFile(path, kEnvironmentBytes);
  };
  Result<std::string> environment = read();
  *unclear = environment.ok() && environment->empty() && BeginsOrEnds(pid);
  // The program may have begun between the two looks.
  if (environment.ok() && environment->empty() && !*unclear) environment = read();
  return environment.ok() && HasEntry(*environment, marker) && ::kill(pid, SIGKILL) == 0;
}

}  // namespace

// Only those that were unclear are asked again: on a busy host some process begins or ends always.
int KillByEnvironment(const std::string& marker) {
  constexpr int kPasses = 200;
  constexpr int kPauseMs = 2;
  std::vector<pid_t> ask, again;
  for (const std::string& name : ListDirectory("/proc")) {
    if (name[0] >= '1' && name[0] <= '9')
      ask.push_back(static_cast<pid_t>(std::atoi(name.c_str())));
  }
  int killed = 0;
  for (int pass = 0; pass < kPasses && !ask.empty(); ++pass) {
    if (pass > 0) ::poll(nullptr, 0, kPauseMs);
    again.clear();
    for (const pid_t pid : ask) {
      bool unclear = false;
      killed += KillIfMarked(pid, marker, &unclear);
      if (unclear) again.push_back(pid);
    }
    ask.swap(again);
  }
  return killed;
}

}  // namespace muster::local
