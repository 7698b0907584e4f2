#include "backends/local/supervisor/isolate.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "backends/local/process/files.h"

namespace muster::local {
namespace {

/// Where a missing mount point must not be left behind on the host.
constexpr std::array<std::string_view, 14> kSystemDirectories = {
    "/bin", "/boot", "/dev", "/etc",  "/lib", "/lib64", "/mnt",
    "/opt", "/proc", "/run", "/sbin", "/srv", "/usr",   "/var"};

std::string Failure(const std::string& what) { return what + ": " + std::strerror(errno); }

bool WriteText(const char* path, const std::string& text) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool ok = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  return ok;
}

bool IsSystemDirectory(const std::string& path) {
  if (path.empty() || path == "/") return true;
  return std::any_of(kSystemDirectories.begin(), kSystemDirectories.end(),
                     [&](std::string_view dir) {
                       return path == dir || (path.starts_with(dir) && path[dir.size()] == '/');
                     });
}

bool Exists(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0;
}

/// An empty file or directory to mount over, like `source`.
bool MakePoint(const std::string& path, const std::string& source) {
  if (IsDirectory(source)) return ::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST;
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return false;
  ::close(fd);
  return true;
}

bool Bind(const std::string& source, const std::string& target) {
  return ::mount(source.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0;
}

/// Fills the tmpfs `to` with what directory `from` holds: links copied, everything else bound.
bool Mirror(const std::string& from, const std::string& to) {
  for (const std::string& name : ListDirectory(from.empty() ? "/" : from)) {
    const std::string source = from + "/" + name, target = to + "/" + name;
    struct stat info {};
    if (::lstat(source.c_str(), &info) != 0) continue;
    if (S_ISLNK(info.st_mode)) {
      char link[4096];
      const ssize_t size = ::readlink(source.c_str(), link, sizeof link - 1);
      if (size <= 0) continue;
      link[size] = '\0';
      if (::symlink(link, target.c_str()) != 0) return false;
    } else if (!MakePoint(target, source) || !Bind(source, target)) {
      return false;
    }
  }
  return true;
}

/// One container's file system view.
class View {
 public:
  explicit View(std::string scratch) : scratch_(std::move(scratch)) {}

  /// Binds `mount` at its target in this view; "" or why not.
  std::string Add(const MountSpec& mount) {
    if (!Exists(root_ + mount.target)) {
      if (std::string why = MakeTarget(mount); !why.empty()) return why;
    }
    const std::string target = root_ + mount.target;
    if (!Bind(mount.source, target)) return Failure("cannot mount a volume at " + mount.target);
    if (mount.read_only &&
        ::mount(nullptr, target.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) != 0) {
      return Failure("cannot make the volume at " + mount.target + " read-only");
    }
    return "";
  }

  /// Makes the view the process's root.
  std::string Enter() {
    if (root_.empty()) return "";
    if (::chroot(root_.c_str()) != 0 || ::chdir("/") != 0)
      return Failure("cannot enter the pod's root");
    return "";
  }

 private:
  std::string MakeTarget(const MountSpec& mount) {
    // The longest part of the path that exists.
    std::string parent = mount.target;
    while (!parent.empty() && !Exists(root_ + parent)) parent.erase(parent.rfind('/'));
    if (parent.empty() && root_.empty()) {
      if (std::string why = MakeRoot(); !why.empty()) return why;
    } else if (!parent.empty() && IsSystemDirectory(parent) && !IsPrivate(parent)) {
      if (std::string why = Cover(parent); !why.empty()) return why;
    }
    const std::size_t last = mount.target.rfind('/');
    if (Status made = MakeDirectories(root_ + mount.target.substr(0, last)); !made.ok()) {
      return "there is no place for a volume at " + mount.target + ": " + made.error().detail;
    }
    if (!MakePoint(root_ + mount.target, mount.source)) {
      return Failure("there is no place for a volume at " + mount.target);
    }
    return "";
  }

  /// A root of our own, on tmpfs, with the host's directories bound into it.
  std::string MakeRoot() {
    const std::string root = scratch_ + "/root";
    if (Status made = MakeDirectories(root); !made.ok()) return made.error().detail;
    if (::mount("tmpfs", root.c_str(), "tmpfs", 0, "mode=755") != 0) {
      return Failure("cannot make a private root");
    }
    if (!Mirror("", root)) return Failure("cannot fill the private root");
    root_ = root;
    private_.push_back("");
    return "";
  }

  /// Replaces an existing directory by a tmpfs that shows the same entries and takes new ones.
  std::string Cover(const std::string& dir) {
    const std::string kept = scratch_ + "/under" + std::to_string(private_.size());
    if (Status made = MakeDirectories(kept); !made.ok()) return made.error().detail;
    const std::string place = root_ + dir;
    if (!Bind(place, kept) || ::mount("tmpfs", place.c_str(), "tmpfs", 0, "mode=755") != 0 ||
        !Mirror(kept, place)) {
      return Failure("cannot make room for a volume below " + dir);
    }
    private_.push_back(dir);
    return "";
  }

  bool IsPrivate(const std::string& dir) const {
    return std::find(private_.begin(), private_.end(), dir) != private_.end();
  }

  std::string scratch_;
  std::string root_;                  // "" while the host's own root serves
  std::vector<std::string> private_;  // directories that are ours
};

std::string EnterNamespaces(const SupervisedPod& pod) {
  int flags = CLONE_NEWNS | CLONE_NEWUTS;
  const uid_t uid = ::geteuid();
  const gid_t gid = ::getegid();
  if (pod.isolation == Isolation::kUserNamespace) flags |= CLONE_NEWUSER;
  if (::unshare(flags) != 0) return Failure("cannot make the pod's namespaces");
  if (pod.isolation == Isolation::kUserNamespace) {
    const std::string user = std::to_string(uid), group = std::to_string(gid);
    if (!WriteText("/proc/self/setgroups", "deny") ||
        !WriteText("/proc/self/uid_map", user + " " + user + " 1") ||
        !WriteText("/proc/self/gid_map", group + " " + group + " 1")) {
      return Failure("cannot map the pod's user");
    }
  }
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return Failure("cannot make the pod's mounts private");
  }
  // A name too long for the kernel keeps the host's; HOSTNAME in the environment is whole either
  // way.
  if (!pod.host_name.empty() && pod.host_name.size() <= 64 &&
      ::sethostname(pod.host_name.data(), pod.host_name.size()) != 0) {
    return Failure("cannot set the pod's host name");
  }
  return "";
}

std::string LinkVolumes(const ContainerSpec& container) {
  for (const MountSpec& mount : container.mounts) {
    if (PathExists(mount.target) || ::symlink(mount.source.c_str(), mount.target.c_str()) != 0) {
      return "a volume cannot be put at " + mount.target +
             ": this host allows no mount namespaces, and no symbolic link can be made there";
    }
  }
  return "";
}

}  // namespace

bool CanIsolate(bool user_namespace) {
  SupervisedPod pod;
  pod.isolation = user_namespace ? Isolation::kUserNamespace : Isolation::kMountNamespace;
  pod.host_name = "probe";
  return EnterNamespaces(pod).empty() && ::mount("tmpfs", "/tmp", "tmpfs", 0, "mode=755") == 0;
}

std::string Isolate(const SupervisedPod& pod, const ContainerSpec& container) {
  if (pod.isolation == Isolation::kNone) return LinkVolumes(container);
  if (std::string why = EnterNamespaces(pod); !why.empty()) return why;
  // One scratch tree per container: two of them start at once.
  char here[4096];
  if (::getcwd(here, sizeof here) == nullptr) return Failure("the pod's directory is gone");
  View view(std::string(here) + "/mounts/" + container.name);
  std::vector<MountSpec> mounts = container.mounts;
  std::sort(mounts.begin(), mounts.end(),
            [](const MountSpec& a, const MountSpec& b) { return a.target < b.target; });
  for (const MountSpec& mount : mounts) {
    if (std::string why = view.Add(mount); !why.empty()) return why;
  }
  if (!pod.hosts_file.empty() && Exists("/etc/hosts")) {
    if (std::string why = view.Add({pod.hosts_file, "/etc/hosts", false}); !why.empty()) return why;
  }
  return view.Enter();
}

}  // namespace muster::local
