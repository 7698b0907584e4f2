// The deny list holds what Docker's default profile refuses to a container without capabilities
// (moby, profiles/seccomp/default_linux.go): loading code into the kernel, mounting, namespaces,
// keys, tracing of the whole system, raw I/O, and interfaces with a history of escalations. It is a
// deny list, because programs here are the host's own, whose needs no list of ours can know. A
// call that Docker allows is allowed here, and so are those that place memory on nodes, which batch
// jobs need.
#include "backends/local/supervisor/confine.h"

#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace muster::local {
namespace {

// By name, because not every architecture has each of them.
constexpr std::array<const char*, 56> kDeniedCalls = {
    "acct",
    "add_key",
    "bpf",
    "clock_adjtime",
    "clock_settime",
    "create_module",
    "delete_module",
    "finit_module",
    "fsconfig",
    "fsmount",
    "fsopen",
    "fspick",
    "get_kernel_syms",
    "init_module",
    "io_uring_enter",
    "io_uring_register",
    "io_uring_setup",
    "ioperm",
    "iopl",
    "kexec_file_load",
    "kexec_load",
    "keyctl",
    "lookup_dcookie",
    "mount",
    "mount_setattr",
    "move_mount",
    "nfsservctl",
    "open_by_handle_at",
    "open_tree",
    "perf_event_open",
    "pivot_root",
    "query_module",
    "quotactl",
    "quotactl_fd",
    "reboot",
    "request_key",
    "setdomainname",
    "sethostname",
    "setns",
    "settimeofday",
    "stime",
    "swapoff",
    "swapon",
    "_sysctl",
    "sysfs",
    "umount",
    "umount2",
    "uselib",
    "userfaultfd",
    "ustat",
    "vhangup",
    "vm86",
    "vm86old",
    "chroot",
    "fanotify_init",
    "syslog",
};

// The usual soft limit of a login (systemd's DefaultLimitNOFILE).
constexpr rlim_t kOpenFiles = 1024;

// The names that submitters' limits have.
constexpr std::array<std::pair<std::string_view, int>, 10> kLimitsByName = {{
    {"CPU", RLIMIT_CPU},
    {"FSIZE", RLIMIT_FSIZE},
    {"DATA", RLIMIT_DATA},
    {"STACK", RLIMIT_STACK},
    {"CORE", RLIMIT_CORE},
    {"RSS", RLIMIT_RSS},
    {"NPROC", RLIMIT_NPROC},
    {"NOFILE", RLIMIT_NOFILE},
    {"MEMLOCK", RLIMIT_MEMLOCK},
    {"AS", RLIMIT_AS},
}};

// Calls that an older library or kernel does not know are left out.
int DenyNamed(scmp_filter_ctx filter) {
  for (const char* name : kDeniedCalls) {
    const int call = ::seccomp_syscall_resolve_name(name);
    if (call == __NR_SCMP_ERROR) continue;
    const int failed = ::seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), call, 0);
    // EDOM, EOPNOTSUPP: this architecture has no such call.
    if (failed != 0 && failed != -EDOM && failed != -EOPNOTSUPP) return failed;
  }
  return 0;
}

// New user namespaces, which would give capabilities within. The flags of clone3 lie in memory,
// where no filter can look: with ENOSYS the C library uses clone.
int DenyUserNamespaces(scmp_filter_ctx filter) {
  const scmp_arg_cmp user_namespace = SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER);
  for (const int call : {SCMP_SYS(unshare), SCMP_SYS(clone)}) {
    if (const int failed =
            ::seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), call, 1, user_namespace);
        failed != 0) {
      return failed;
    }
  }
  return ::seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

// The other ways into the same kernel: 32-bit calls and x32.
int AddOtherArchitectures(scmp_filter_ctx filter) {
#if defined(__x86_64__)
  for (const std::uint32_t other : {SCMP_ARCH_X86, SCMP_ARCH_X32}) {
    const int failed = ::seccomp_arch_add(filter, other);
    if (failed != 0 && failed != -EEXIST) return failed;
  }
#elif defined(__aarch64__)
  const int failed = ::seccomp_arch_add(filter, SCMP_ARCH_ARM);
  if (failed != 0 && failed != -EEXIST) return failed;
#else
  (void)filter;
#endif
  return 0;
}

std::string Refused(const char* what, int why) {
  return std::string("cannot ") + what + " of the container: " + std::strerror(why);
}

}  // namespace

void DropBoundingSet() {
  for (unsigned long one = 0; one <= CAP_LAST_CAP; ++one) ::prctl(PR_CAPBSET_DROP, one, 0, 0, 0);
}

std::string GiveUpPrivileges() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Refused("fix the rights", errno);
  // An older kernel without ambient capabilities has none to clear.
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{};
  header.version = _LINUX_CAPABILITY_VERSION_3;
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  if (::syscall(SYS_capset, &header, none.data()) != 0)
    return Refused("drop the capabilities", errno);
  return "";
}

std::string LimitSystemCalls() {
  const scmp_filter_ctx filter = ::seccomp_init(SCMP_ACT_ALLOW);
  if (filter == nullptr) return Refused("limit the system calls", ENOMEM);
  int failed = AddOtherArchitectures(filter);
  // Sorted in a tree: a call passes some eight comparisons instead of sixty.
  if (failed == 0) failed = ::seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
  if (failed == 0) failed = DenyNamed(filter);
  if (failed == 0) failed = DenyUserNamespaces(filter);
  if (failed == 0) failed = ::seccomp_load(filter);
  ::seccomp_release(filter);
  return failed == 0 ? "" : Refused("limit the system calls", -failed);
}

void SetUsualLimits() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_CORE, &limit) == 0) {
    limit.rlim_cur = 0;
    ::setrlimit(RLIMIT_CORE, &limit);
  }
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = std::min(kOpenFiles, limit.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

void SetSoftLimits(const std::vector<std::pair<std::string, std::int64_t>>& limits) {
  for (const auto& [name, value] : limits) {
    for (const auto& [known, resource] : kLimitsByName) {
      rlimit limit{};
      if (name != known || ::getrlimit(resource, &limit) != 0) continue;
      const rlim_t wanted = value < 0 ? RLIM_INFINITY : static_cast<rlim_t>(value);
      // RLIM_INFINITY is the largest number.
      limit.rlim_cur = std::min(wanted, limit.rlim_max);
      ::setrlimit(resource, &limit);
    }
  }
}

}  // namespace muster::local
