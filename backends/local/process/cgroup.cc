// Control groups, versions 1 and 2. Whether a controller can be used is found by making a group and
// looking for its files, because mount options do not tell what the daemon may write.
//
// KillAll forbids new processes (pids.max 0) and uses cgroup.kill where the kernel has it; then it
// kills by pid until the group is empty, for version 1 has nothing better.
#include "backends/local/process/cgroup.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string_view>

#include "backends/local/process/files.h"
#include "backends/local/process/process_tree.h"

namespace muster::local {
namespace {

// The kernel's default.
constexpr std::int64_t kCpuPeriodUs = 100'000;
// The kernel refuses smaller quotas.
constexpr std::int64_t kSmallestQuotaUs = 1'000;

// Of version 2. The last two are used where they can be had, and missed nowhere.
constexpr std::array<const char*, 5> kControllers = {"+memory", "+cpu", "+pids", "+cpuset", "+io"};

// Control files take the whole value in one write.
bool WriteControl(const std::string& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool ok = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  return ok;
}

// A file that holds one number; -1 if it is not there or "max".
std::int64_t ReadNumber(const std::string& path) {
  const Result<std::string> text = ReadWholeFile(path);
  if (!text.ok() || text->empty() || (*text)[0] < '0' || (*text)[0] > '9') return -1;
  return std::atoll(text->c_str());
}

// The value of a line "key value"; -1 if there is none.
std::int64_t ReadKey(const std::string& path, std::string_view key) {
  const Result<std::string> text = ReadWholeFile(path);
  if (!text.ok()) return -1;
  std::istringstream lines(*text);
  std::string name;
  for (std::int64_t value = 0; lines >> name >> value;) {
    if (name == key) return value;
  }
  return -1;
}

// The sums of rbytes= and wbytes= over the devices of io.stat.
void ReadIo(const std::string& path, PodCgroups::Use* use) {
  const Result<std::string> text = ReadWholeFile(path);
  if (!text.ok()) return;
  use->read_bytes = use->written_bytes = 0;
  std::istringstream words(*text);
  for (std::string word; words >> word;) {
    if (word.starts_with("rbytes=")) use->read_bytes += std::atoll(word.c_str() + 7);
    if (word.starts_with("wbytes=")) use->written_bytes += std::atoll(word.c_str() + 7);
  }
}

std::vector<pid_t> ReadPids(const std::string& path) {
  std::vector<pid_t> pids;
  const Result<std::string> text = ReadWholeFile(path);
  if (!text.ok()) return pids;
  std::istringstream lines(*text);
  for (int pid = 0; lines >> pid;) pids.push_back(pid);
  return pids;
}

// Removes a group and all below it; a group that still has processes stays.
void RemoveGroups(const std::string& dir) {
  for (const std::string& name : ListDirectories(dir)) RemoveGroups(dir + "/" + name);
  ::rmdir(dir.c_str());
}

// A group of another user, which a daemon of root has left behind, is none of ours.
bool MakeGroup(const std::string& dir) {
  return ::mkdir(dir.c_str(), 0755) == 0 || (errno == EEXIST && ::access(dir.c_str(), W_OK) == 0);
}

// Version 2. A group has a controller only if every ancestor lists it in cgroup.subtree_control.
CgroupMount ProbeUnified(const std::string& root, const std::string& name) {
  CgroupMount mount{2, root + "/" + name};
  for (const char* controller : kControllers)
    WriteControl(root + "/cgroup.subtree_control", controller);
  if (!MakeGroup(mount.base)) return {};
  for (const char* controller : kControllers)
    WriteControl(mount.base + "/cgroup.subtree_control", controller);
  const std::string probe = mount.base + "/probe";
  if (!MakeGroup(probe)) return {};
  mount.memory = PathExists(probe + "/memory.max");
  mount.cpu = PathExists(probe + "/cpu.max");
  mount.pids = PathExists(probe + "/pids.max");
  ::rmdir(probe.c_str());
  if (!mount.memory && !mount.cpu && !mount.pids) {
    ::rmdir(mount.base.c_str());
    return {};
  }
  return mount;
}

// Version 1: one hierarchy per controller, or several controllers in one.
CgroupMount ProbeLegacy(const std::string& root, const std::string& name) {
  CgroupMount mount{1, root + "/" + name};
  if (!MakeGroup(mount.base)) return {};
  mount.memory = PathExists(mount.base + "/memory.limit_in_bytes");
  mount.cpu = PathExists(mount.base + "/cpu.cfs_quota_us");
  mount.pids = PathExists(mount.base + "/pids.max");
  if (!mount.memory && !mount.cpu && !mount.pids) {
    ::rmdir(mount.base.c_str());
    return {};
  }
  return mount;
}

// Without swap, so that the limit is the limit; in version 2 the whole group is killed together.
bool SetMemory(const CgroupMount& mount, const std::string& dir, std::int64_t bytes) {
  if (mount.version == 2) {
    // The file is absent on hosts without swap.
    WriteControl(dir + "/memory.swap.max", "0");
    WriteControl(dir + "/memory.oom.group", "1");
    return WriteControl(dir + "/memory.max", std::to_string(bytes));
  }
  return WriteControl(dir + "/memory.limit_in_bytes", std::to_string(bytes));
}

bool SetCpu(const CgroupMount& mount, const std::string& dir, std::int64_t milli) {
  const std::int64_t quota = std::max(kSmallestQuotaUs, milli * kCpuPeriodUs / 1000);
  if (mount.version == 2) {
    return WriteControl(dir + "/cpu.max",
                        std::to_string(quota) + " " + std::to_string(kCpuPeriodUs));
  }
  return WriteControl(dir + "/cpu.cfs_quota_us", std::to_string(quota));
}

}  // namespace

// Reads the mount points of type cgroup and cgroup2.
std::vector<CgroupMount> FindCgroups(const std::string& name) {
  std::vector<CgroupMount> found;
  const Result<std::string> text = ReadWholeFile("/proc/self/mountinfo");
  if (!text.ok()) return found;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    // 36 35 98:0 /root /mount/point options... - type source super-options
    std::istringstream words(line);
    std::string skip, point, type;
    words >> skip >> skip >> skip >> skip >> point;
    while (words >> skip && skip != "-") {
    }
    words >> type;
    CgroupMount mount{0, ""};
    if (type == "cgroup2") mount = ProbeUnified(point, name);
    if (type == "cgroup") mount = ProbeLegacy(point, name);
    if (!mount.base.empty()) found.push_back(mount);
  }
  return found;
}

std::string DescribeCgroups(const std::vector<CgroupMount>& mounts) {
  std::string memory, cpu, pids;
  for (const CgroupMount& mount : mounts) {
    const std::string version = mount.version == 2 ? " (cgroup v2)" : " (cgroup v1)";
    if (mount.memory) memory = "memory" + version;
    if (mount.cpu) cpu = "cpu" + version;
    if (mount.pids) pids = "processes" + version;
  }
  std::string text;
  for (const std::string* part : {&memory, &cpu, &pids}) {
    if (!part->empty()) text += (text.empty() ? "" : ", ") + *part;
  }
  return text;
}

PodCgroups::PodCgroups(std::vector<CgroupMount> mounts, std::string pod_key)
    : mounts_(std::move(mounts)), key_(std::move(pod_key)) {}

std::string PodCgroups::Dir(const CgroupMount& mount, const std::string& container) const {
  return mount.base + "/" + key_ + (container.empty() ? "" : "/" + container);
}

Status PodCgroups::Create(std::int64_t max_processes) {
  for (const CgroupMount& mount : mounts_) {
    const std::string dir = Dir(mount, "");
    if (!MakeGroup(dir))
      return Unavailable("cannot make a control group: " + std::string(std::strerror(errno)));
    if (mount.version == 2) {
      for (const char* controller : kControllers)
        WriteControl(dir + "/cgroup.subtree_control", controller);
    }
    if (mount.pids && !WriteControl(dir + "/pids.max", std::to_string(max_processes))) {
      return Unavailable("cannot bound the pod's processes: " + std::string(std::strerror(errno)));
    }
  }
  return Done{};
}

Status PodCgroups::CreateContainer(const std::string& name, std::int64_t memory,
                                   std::int64_t cpu_milli) {
  for (const CgroupMount& mount : mounts_) {
    const std::string dir = Dir(mount, name);
    bool ok = MakeGroup(dir);
    if (ok && mount.memory && memory > 0) ok = SetMemory(mount, dir, memory);
    if (ok && mount.cpu && cpu_milli > 0) ok = SetCpu(mount, dir, cpu_milli);
    if (!ok) {
      return Unavailable("cannot limit container " + name + ": " +
                         std::string(std::strerror(errno)));
    }
  }
  return Done{};
}

void PodCgroups::SetForBatch(const std::string& name, const std::vector<int>& cpus) const {
  std::string list;
  for (const int cpu : cpus) list += (list.empty() ? "" : ",") + std::to_string(cpu);
  for (const CgroupMount& mount : mounts_) {
    if (mount.version != 2) continue;
    if (mount.memory) WriteControl(Dir(mount, name) + "/memory.oom.group", "0");
    if (!list.empty()) WriteControl(Dir(mount, name) + "/cpuset.cpus", list);
  }
}

PodCgroups::Use PodCgroups::Used(const std::string& name) const {
  Use use;
  for (const CgroupMount& mount : mounts_) {
    const std::string dir = Dir(mount, name);
    if (mount.version == 1) {
      if (mount.memory) use.memory_peak_bytes = ReadNumber(dir + "/memory.max_usage_in_bytes");
      continue;
    }
    use.user_cpu_us = ReadKey(dir + "/cpu.stat", "user_usec");
    use.system_cpu_us = ReadKey(dir + "/cpu.stat", "system_usec");
    if (mount.memory) use.memory_peak_bytes = ReadNumber(dir + "/memory.peak");
    ReadIo(dir + "/io.stat", &use);
  }
  return use;
}

// Writing 0 to cgroup.procs moves the writing process.
bool PodCgroups::Enter(const std::string& name) const {
  for (const CgroupMount& mount : mounts_) {
    if (!WriteControl(Dir(mount, name) + "/cgroup.procs", "0")) return false;
  }
  return true;
}

// The counter oom_kill is in memory.events (version 2) or memory.oom_control (version 1).
std::int64_t PodCgroups::OutOfMemoryKills(const std::string& name) const {
  for (const CgroupMount& mount : mounts_) {
    if (!mount.memory) continue;
    const Result<std::string> text = ReadWholeFile(
        Dir(mount, name) + (mount.version == 2 ? "/memory.events" : "/memory.oom_control"));
    if (!text.ok()) continue;
    std::istringstream lines(*text);
    std::string key;
    for (std::int64_t count = 0; lines >> key >> count;) {
      if (key == "oom_kill") return count;
    }
  }
  return 0;
}

// Containers' groups are one level below the pod's.
std::vector<pid_t> PodCgroups::Processes(const std::string& name) const {
  std::vector<pid_t> pids;
  if (mounts_.empty()) return pids;
  const std::string dir = Dir(mounts_.front(), name);
  pids = ReadPids(dir + "/cgroup.procs");
  for (const std::string& below : ListDirectories(dir)) {
    for (const pid_t pid : ReadPids(dir + "/" + below + "/cgroup.procs")) pids.push_back(pid);
  }
  return pids;
}

bool PodCgroups::KillAll() const {
  // No process may start while the others are being killed.
  for (const CgroupMount& mount : mounts_) {
    if (mount.pids) WriteControl(Dir(mount, "") + "/pids.max", "0");
    if (mount.version == 2) WriteControl(Dir(mount, "") + "/cgroup.kill", "1");
  }
  for (int pass = 0; pass < 200; ++pass) {
    const std::vector<pid_t> pids = Processes("");
    if (pids.empty()) return true;
    for (const pid_t pid : pids) ::kill(pid, SIGKILL);
    AwaitEnd(pids.front(), 20);
  }
  return false;
}

void PodCgroups::Remove() const {
  for (const CgroupMount& mount : mounts_) RemoveGroups(Dir(mount, ""));
}

bool PodCgroups::limits_memory() const {
  return std::any_of(mounts_.begin(), mounts_.end(), [](const CgroupMount& m) { return m.memory; });
}
bool PodCgroups::limits_cpu() const {
  return std::any_of(mounts_.begin(), mounts_.end(), [](const CgroupMount& m) { return m.cpu; });
}
bool PodCgroups::limits_processes() const {
  return std::any_of(mounts_.begin(), mounts_.end(), [](const CgroupMount& m) { return m.pids; });
}

}  // namespace muster::local
