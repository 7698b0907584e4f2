// A container's view of the file system, built in new namespaces (mount, UTS and, if asked, user).
//
// All volumes are opened first and mounted through their descriptors (/proc/self/fd), so that no
// mount can hide or change the path of another, and no link that changes meanwhile can lead
// elsewhere. They are mounted in the order of their targets, parents before children.
//
// A mount point that does not exist needs a place. MountView keeps the list of directories that are
// private already; MakeRoot makes a new root on tmpfs, Cover puts a tmpfs over one directory, and
// Mirror fills either with binds and copied links, so that the container sees the same entries as
// before.
#include "backends/local/supervisor/isolate.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "backends/local/process/files.h"
#include "backends/local/supervisor/credentials.h"
#include "backends/local/supervisor/volume_source.h"

namespace muster::local {
namespace {

// Directories of the host in which no mount point may be left behind.
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

// Creates an empty file or directory to mount over.
bool MakePoint(const std::string& path, bool directory) {
  if (directory) return ::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST;
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return false;
  ::close(fd);
  return true;
}

bool Bind(const std::string& source, const std::string& target) {
  return ::mount(source.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0;
}

// The mount flags that a remount must repeat to keep them.
unsigned long FlagsOf(const std::string& path) {
  struct statvfs info {};
  if (::statvfs(path.c_str(), &info) != 0) return 0;
  unsigned long flags = 0;
  if ((info.f_flag & ST_NOSUID) != 0) flags |= MS_NOSUID;
  if ((info.f_flag & ST_NODEV) != 0) flags |= MS_NODEV;
  if ((info.f_flag & ST_NOEXEC) != 0) flags |= MS_NOEXEC;
  return flags;
}

// Fills the tmpfs `to` with the entries of directory `from`: links are copied, everything else is
// bound.
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
    } else if (!MakePoint(target, S_ISDIR(info.st_mode)) || !Bind(source, target)) {
      return false;
    }
  }
  return true;
}

// One container's view of the file system.
class MountView {
 public:
  MountView(std::string scratch, const Credentials& user)
      : scratch_(std::move(scratch)), user_(user) {}

  // Mounts an open source at `where` in this view; "" or why it failed.
  std::string Add(const VolumeSource& source, const std::string& where, bool read_only) {
    if (!Exists(root_ + where)) {
      if (std::string why = MakeTarget(where, source.is_directory()); !why.empty()) return why;
    }
    const std::string target = root_ + where;
    if (!Bind(source.path(), target)) return Failure("cannot mount a volume at " + where);
    if (read_only && ::mount(nullptr, target.c_str(), nullptr,
                             MS_REMOUNT | MS_BIND | MS_RDONLY | FlagsOf(target), nullptr) != 0) {
      return Failure("cannot make the volume at " + where + " read-only");
    }
    return "";
  }

  // Makes the view the root of the process.
  std::string Enter() {
    if (root_.empty()) return "";
    if (::chroot(root_.c_str()) != 0 || ::chdir("/") != 0)
      return Failure("cannot enter the pod's root");
    return "";
  }

 private:
  // Makes the mount point `where`, in a private directory if the host's must not change.
  std::string MakeTarget(const std::string& where, bool directory) {
    // The longest existing parent.
    std::string parent = where;
    while (!parent.empty() && !Exists(root_ + parent)) parent.erase(parent.rfind('/'));
    bool ours = IsPrivate(parent);
    if (parent.empty() && root_.empty()) {
      if (std::string why = MakeRoot(); !why.empty()) return why;
      ours = true;
    } else if (!ours && !IsSystemDirectory(parent)) {
      // Created as the container's user: possible in the user's own directories only.
      const ScopedUser as(user_);
      if (!as.problem().empty()) return as.problem();
      if (MakePath(where, directory).empty()) return "";
    }
    if (!ours) {
      if (std::string why = Cover(parent); !why.empty()) return why;
    }
    return MakePath(where, directory);
  }

  std::string MakePath(const std::string& where, bool directory) {
    const std::size_t last = where.rfind('/');
    if (Status made = MakeDirectories(root_ + where.substr(0, last)); !made.ok())
      return "there is no place for a volume at " + where + ": " + made.error().detail;
    if (MakePoint(root_ + where, directory)) return "";
    return Failure("there is no place for a volume at " + where);
  }

  // Makes a private root on tmpfs, with the host's directories bound into it.
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

  // Puts a tmpfs over an existing directory that shows the same entries and takes new ones.
  std::string Cover(const std::string& dir) {
    const std::string kept = scratch_ + "/under" + std::to_string(private_.size());
    if (Status made = MakeDirectories(kept); !made.ok()) return made.error().detail;
    const std::string place = root_ + dir;
    struct stat info {};
    if (::stat(place.c_str(), &info) != 0)
      return Failure("cannot make room for a volume below " + dir);
    // The tmpfs gets the directory's mode, so that it opens to nobody else.
    char mode[32];
    std::snprintf(mode, sizeof mode, "mode=%o", static_cast<unsigned>(info.st_mode & 07777));
    if (!Bind(place, kept) || ::mount("tmpfs", place.c_str(), "tmpfs", 0, mode) != 0)
      return Failure("cannot make room for a volume below " + dir);
    // In a user namespace other ids are not mapped; then the tmpfs stays the user's own.
    if (::chown(place.c_str(), info.st_uid, info.st_gid) != 0 && errno != EINVAL && errno != EPERM)
      return Failure("cannot make room for a volume below " + dir);
    if (!Mirror(kept, place)) return Failure("cannot make room for a volume below " + dir);
    private_.push_back(dir);
    return "";
  }

  bool IsPrivate(const std::string& dir) const {
    return std::find(private_.begin(), private_.end(), dir) != private_.end();
  }

  std::string scratch_;
  const Credentials& user_;
  std::string root_;                  // "" while the host's root is used
  std::vector<std::string> private_;  // directories that are on a tmpfs of this view
};

// Creates the pod's namespaces and moves the process into them.
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
  // The kernel takes at most 64 bytes; a longer name is only in the variable HOSTNAME.
  if (!pod.host_name.empty() && pod.host_name.size() <= 64 &&
      ::sethostname(pod.host_name.data(), pod.host_name.size()) != 0) {
    return Failure("cannot set the pod's host name");
  }
  return "";
}

// Without namespaces: a symbolic link for each volume, at a path that must not exist.
std::string LinkVolumes(const ContainerSpec& container, const Credentials& user) {
  for (const MountSpec& mount : container.mounts) {
    VolumeSource source;
    if (std::string why = source.Open(mount, user); !why.empty()) return why;
    const std::string place =
        mount.sub_path.empty() ? mount.source : mount.source + "/" + mount.sub_path;
    const ScopedUser as(user);
    if (!as.problem().empty()) return as.problem();
    if (PathExists(mount.target) || ::symlink(place.c_str(), mount.target.c_str()) != 0) {
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
  const Credentials user = CredentialsOf(container);
  if (pod.isolation == Isolation::kNone) return LinkVolumes(container, user);
  if (std::string why = EnterNamespaces(pod); !why.empty()) return why;
  // One scratch tree per container: two of them start at once.
  char here[4096];
  if (::getcwd(here, sizeof here) == nullptr) return Failure("the pod's directory is gone");
  MountView view(std::string(here) + "/mounts/" + container.name, user);
  std::vector<MountSpec> mounts = container.mounts;
  std::sort(mounts.begin(), mounts.end(),
            [](const MountSpec& a, const MountSpec& b) { return a.target < b.target; });
  // All sources are opened before any is mounted.
  std::vector<VolumeSource> sources(mounts.size());
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    if (std::string why = sources[i].Open(mounts[i], user); !why.empty()) return why;
  }
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    if (std::string why = view.Add(sources[i], mounts[i].target, mounts[i].read_only);
        !why.empty()) {
      return why;
    }
  }
  if (!pod.hosts_file.empty() && Exists("/etc/hosts")) {
    VolumeSource hosts;
    MountSpec own;
    own.source = pod.hosts_file;
    own.own = true;
    if (std::string why = hosts.Open(own, user); !why.empty()) return why;
    if (std::string why = view.Add(hosts, "/etc/hosts", false); !why.empty()) return why;
  }
  return view.Enter();
}

}  // namespace muster::local
