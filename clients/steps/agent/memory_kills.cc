// /proc/self/cgroup names the group: "0::/PATH" of version 2, "N:memory:/PATH" of version 1.
#include "clients/steps/agent/memory_kills.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string_view>

#include "clients/steps/descriptor.h"
#include "clients/steps/words.h"

namespace muster::steps {
namespace {

constexpr char kGroups[] = "/sys/fs/cgroup";
constexpr int kKilledChild = 128 + SIGKILL;

std::string ReadShort(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char buffer[8 << 10];
  const ssize_t got = file ? ::read(file.get(), buffer, sizeof(buffer)) : -1;
  return {buffer, got < 0 ? 0 : static_cast<std::size_t>(got)};
}

}  // namespace

MemoryKills::MemoryKills() {
  const std::string groups = ReadShort("/proc/self/cgroup");
  for (std::size_t at = 0; at < groups.size();) {
    const std::size_t end = std::min(groups.find('\n', at), groups.size());
    const std::string line = groups.substr(at, end - at);
    at = end + 1;
    const std::string path = line.substr(std::min(line.find(":/"), line.size() - 1) + 1);
    std::string file;
    if (line.starts_with("0::/")) file = kGroups + path + "/memory.events";
    if (line.find(":memory:/") != std::string::npos)
      file = std::string(kGroups) + "/memory" + path + "/memory.oom_control";
    if (!file.empty() && ::access(file.c_str(), R_OK) == 0) file_ = file;
  }
  explained_ = Count();
}

std::int64_t MemoryKills::Count() const {
  if (file_.empty()) return 0;
  const std::string text = ReadShort(file_);
  static constexpr std::string_view kName = "oom_kill ";
  const auto at = text.find(kName);
  if (at == std::string::npos) return 0;
  const std::string_view rest = std::string_view(text).substr(at + kName.size());
  return WholeNumber(rest.substr(0, rest.find('\n'))).value_or(0);
}

bool MemoryKills::Explains(int status) {
  const bool killed =
      WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == kKilledChild;
  if (!killed || Count() <= explained_) return false;
  ++explained_;
  return true;
}

}  // namespace muster::steps
