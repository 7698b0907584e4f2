// Host abilities. Whether namespaces work is tried, not guessed: the supervisor is run with
// --probe, because kernels, containers and security modules refuse them in many ways.
//
// Ports are taken below the kernel's range for outgoing connections, so that no client can be given
// one between our check and the pod's bind. All of them are held open until the last is found, so
// that they differ.
#include "backends/local/host.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>

#include "backends/local/process/files.h"

namespace muster::local {
namespace {

// Runs `supervisor --probe WHAT`; true if it exits with 0.
bool Probe(const std::string& supervisor_path, const char* what) {
  const std::string flag = "--probe";
  char* argv[] = {const_cast<char*>(supervisor_path.c_str()), const_cast<char*>(flag.c_str()),
                  const_cast<char*>(what), nullptr};
  char* environment[] = {nullptr};
  pid_t pid = 0;
  if (::posix_spawn(&pid, supervisor_path.c_str(), nullptr, nullptr, argv, environment) != 0)
    return false;
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::int64_t HostMemory() {
  return static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
}

bool Declares(const ResourceList& list, std::string_view resource) {
  for (const ResourceAmount& one : list) {
    if (one.resource == resource) return true;
  }
  return false;
}

// Above the ports that services usually have.
constexpr int kFirstServerPort = 20'000;
constexpr int kFewestServerPorts = 1'000;

// The ports first, first + 1, ..., end - 1.
struct PortRange {
  int first = 0, end = 0;
  std::uint64_t size() const { return static_cast<std::uint64_t>(end - first); }
};

// The ports below the kernel's range for outgoing connections; empty if there are too few.
PortRange ServerPorts() {
  std::ifstream file("/proc/sys/net/ipv4/ip_local_port_range");
  int first_outgoing = 0;
  file >> first_outgoing;
  if (first_outgoing < kFirstServerPort + kFewestServerPorts) return {};
  return {kFirstServerPort, first_outgoing};
}

}  // namespace

ResourceList WithHostDefaults(ResourceList declared) {
  if (!Declares(declared, "cpu"))
    SetAmount(&declared, "cpu", ::sysconf(_SC_NPROCESSORS_ONLN) * 1000);
  if (!Declares(declared, "memory")) SetAmount(&declared, "memory", HostMemory());
  return declared;
}

HostAbilities FindAbilities(const std::string& supervisor_path, bool use_cgroups,
                            bool use_namespaces, const std::string& cgroup_name) {
  HostAbilities found;
  found.own_uid = ::geteuid();
  found.own_gid = ::getegid();
  if (use_cgroups) found.cgroups = FindCgroups(cgroup_name);
  const PodCgroups groups(found.cgroups, "");
  std::ostringstream text;
  text << "limits: ";
  if (!found.cgroups.empty()) text << DescribeCgroups(found.cgroups) << "; ";
  if (!groups.limits_memory()) text << "memory by RLIMIT_AS; ";
  if (!groups.limits_cpu()) text << "cpu not limited; ";
  if (!groups.limits_processes()) text << "processes counted by the supervisor; ";
  found.isolation = !use_namespaces                   ? "none"
                    : Probe(supervisor_path, "mount") ? "mount"
                    : Probe(supervisor_path, "user")  ? "user"
                                                      : "none";
  text << (found.isolation == "mount" ? "volumes in mount namespaces"
           : found.isolation == "user"
               ? "volumes in user and mount namespaces"
               : "volumes by symbolic links, the host's own name: no namespaces here");
  text << "; images are not pulled";
  found.description = text.str();
  return found;
}

std::vector<int> UsableCpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  // On a host with more cpus than the set holds they stay unknown, and pods are not pinned.
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

std::vector<int> FreePorts(int count, Random& random) {
  const PortRange range = ServerPorts();
  std::vector<int> ports, sockets;
  for (int tries = 0; tries < 64 * count && static_cast<int>(ports.size()) < count; ++tries) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) break;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (range.size() > 0) {
      address.sin_port =
          htons(static_cast<std::uint16_t>(range.first + random.Next() % range.size()));
    }
    socklen_t size = sizeof address;
    if (::bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      ::close(fd);
      continue;
    }
    sockets.push_back(fd);
    ports.push_back(ntohs(address.sin_port));
  }
  for (const int fd : sockets) ::close(fd);
  return ports;
}

}  // namespace muster::local
