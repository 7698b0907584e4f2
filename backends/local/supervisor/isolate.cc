// A container's view of the file system, built in new namespaces (mount, UTS and, if asked, user).
//
// All volumes are opened first and mounted through their descriptors, so that no mount can hide or
// change the path of another, and no link that changes meanwhile can lead elsewhere. They are
// mounted in the order of their targets, parents before children. A volume may cover /proc or the
// pod's own directory, and what is in it is the user's: so the process stands in /proc/self/fd
// before the first one is mounted and names descriptors by their number there, and finds its own
// scratch directory by a descriptor.
//
// A mount point that does not exist needs a place. MountView keeps the list of directories that are
// private already; MakeRoot makes a new root on tmpfs, Cover puts a tmpfs over one directory, and
// Mirror fills either with binds and copied links, so that the container sees the same entries as
// before. The user may rename directories meanwhile, so nothing is created with root's rights by a
// path of the user's: a mount point is made as the user, or in a tmpfs by a path of our own.
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
#include <utility>
#include <vector>

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

// An open descriptor, closed at the end of its scope.
class Handle {
 public:
  explicit Handle(int fd) : fd_(fd) {}
  Handle(Handle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Handle() {
    if (fd_ >= 0) ::close(fd_);
  }
  bool valid() const { return fd_ >= 0; }
  int get() const { return fd_; }
  // A path by which the open file can be mounted and mounted over, wherever it is now; for a
  // process that stands in /proc/self/fd.
  std::string path() const { return std::to_string(fd_); }

 private:
  int fd_;
};

constexpr int kDirectoryOnly = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// Opens an entry itself, also if it is a link. Only O_DIRECTORY makes the kernel mount what is
// mounted on demand.
Handle OpenEntry(const Handle& dir, const std::string& name) {
  Handle entry(::openat(dir.get(), name.c_str(), kDirectoryOnly));
  if (entry.valid()) return entry;
  return Handle(::openat(dir.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
}

// Fills the tmpfs `to` with the entries of directory `from`: links are copied, everything else is
// bound. Each entry is opened first, so that what was looked at is what is bound.
bool Mirror(const Handle& from, const std::string& to) {
  for (const std::string& name : ListDirectory(from.path())) {
    const std::string target = to + "/" + name;
    const Handle entry = OpenEntry(from, name);
    struct stat info {};
    if (!entry.valid() || ::fstat(entry.get(), &info) != 0) continue;
    if (S_ISLNK(info.st_mode)) {
      char link[4096];
      const ssize_t size = ::readlinkat(entry.get(), "", link, sizeof link - 1);
      if (size <= 0) continue;
      link[size] = '\0';
      if (::symlink(link, target.c_str()) != 0) return false;
    } else if (!MakePoint(target, S_ISDIR(info.st_mode)) || !Bind(entry.path(), target)) {
      return false;
    }
  }
  return true;
}

// Makes the mount point `path` (relative) in the tmpfs `base`. Neither a link in it nor a directory
// that is bound into it is entered: those are the host's.
bool MakeBelow(const std::string& base, const std::string& path, bool directory) {
  Handle at(::open(base.c_str(), kDirectoryOnly));
  struct stat tmpfs {};
  if (!at.valid() || ::fstat(at.get(), &tmpfs) != 0) return false;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    begin = end + 1;
    if (name.empty()) continue;
    if (end == path.size() && !directory) {
      return Handle(::openat(at.get(), name.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644))
          .valid();
    }
    if (::mkdirat(at.get(), name.c_str(), 0755) == 0) {
      // Whatever the umask is.
      if (::fchmodat(at.get(), name.c_str(), 0755, 0) != 0) return false;
    } else if (errno != EEXIST) {
      return false;
    }
    at = Handle(::openat(at.get(), name.c_str(), kDirectoryOnly));
    struct stat info {};
    if (!at.valid() || ::fstat(at.get(), &info) != 0) return false;
    if (info.st_dev != tmpfs.st_dev) {
      errno = EXDEV;
      return false;
    }
  }
  return true;
}

// Mounts an empty tmpfs with the owner and the mode of a directory, so that it opens to nobody
// else. In a user namespace other ids are not mapped; then the tmpfs is the user's own.
bool MountLike(const struct stat& directory, const std::string& place) {
  char mode[32], all[96];
  std::snprintf(mode, sizeof mode, "mode=%o", static_cast<unsigned>(directory.st_mode & 07777));
  std::snprintf(all, sizeof all, "%s,uid=%u,gid=%u", mode, directory.st_uid, directory.st_gid);
  return ::mount("tmpfs", place.c_str(), "tmpfs", 0, all) == 0 ||
         ::mount("tmpfs", place.c_str(), "tmpfs", 0, mode) == 0;
}

// One container's view of the file system.
class MountView {
 public:
  explicit MountView(const Credentials& user) : user_(user) {}

  // Makes the directory of this container's own mounts and holds it open, before any volume can be
  // in the way; "" or why it failed.
  std::string Prepare(const std::string& scratch) {
    for (const auto& [dir, mode] :
         {std::pair(scratch, 0755U), std::pair(scratch + "/covers", 0700U)}) {
      if (Status made = MakeDirectories(dir, mode); !made.ok()) return made.error().detail;
    }
    scratch_ = Handle(::open(scratch.c_str(), kDirectoryOnly));
    return scratch_.valid() ? "" : Failure("cannot open " + scratch);
  }

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
  // A directory of the view that is on a tmpfs, and where only the supervisor reaches that tmpfs.
  struct Private {
    std::string dir, place;
  };

  // Makes the mount point `where`, in a private directory if the host's must not change.
  std::string MakeTarget(const std::string& where, bool directory) {
    // The longest existing parent.
    std::string parent = where;
    while (!parent.empty() && !Exists(root_ + parent)) parent.erase(parent.rfind('/'));
    const Private* ours = FindPrivate(parent);
    if (parent.empty() && root_.empty()) {
      if (std::string why = MakeRoot(); !why.empty()) return why;
    } else if (ours == nullptr && !IsSystemDirectory(parent)) {
      // Created as the container's user: possible in the user's own directories only.
      const ScopedUser as(user_);
      if (!as.problem().empty()) return as.problem();
      if (MakePath(where, directory)) return "";
    }
    if (ours == nullptr && (ours = FindPrivate(parent)) == nullptr) {
      if (std::string why = Cover(parent); !why.empty()) return why;
      ours = &private_.back();
    }
    if (MakeBelow(ours->place, where.substr(parent.size()), directory)) return "";
    return Failure("there is no place for a volume at " + where);
  }

  bool MakePath(const std::string& where, bool directory) {
    return MakeDirectories(root_ + where.substr(0, where.rfind('/'))).ok() &&
           MakePoint(root_ + where, directory);
  }

  // Makes a private root on tmpfs, with the host's directories bound into it.
  std::string MakeRoot() {
    const std::string root = scratch_.path() + "/root";
    if (!MakePoint(root, true)) return Failure("cannot make a private root");
    if (::mount("tmpfs", root.c_str(), "tmpfs", 0, "mode=755") != 0) {
      return Failure("cannot make a private root");
    }
    const Handle host(::open("/", kDirectoryOnly));
    if (!host.valid() || !Mirror(host, root)) return Failure("cannot fill the private root");
    root_ = root;
    private_.push_back({"", root});
    return "";
  }

  // Puts a tmpfs over an existing directory that shows the same entries and takes new ones. The
  // user may own the directory and exchange it at any time: it is opened once, with the user's
  // rights. The tmpfs is made and filled where only the supervisor's user may go, and bound over
  // the open directory last.
  std::string Cover(const std::string& dir) {
    const std::string place = scratch_.path() + "/covers/" + std::to_string(private_.size());
    if (!MakePoint(place, true)) return Failure("cannot make room for a volume below " + dir);
    Handle covered(-1);
    {
      const ScopedUser as(user_);
      if (!as.problem().empty()) return as.problem();
      covered = Handle(::open((root_ + dir).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    }
    struct stat info {};
    if (!covered.valid() || ::fstat(covered.get(), &info) != 0 || !MountLike(info, place) ||
        !Mirror(covered, place) || !Bind(place, covered.path())) {
      return Failure("cannot make room for a volume below " + dir);
    }
    private_.push_back({dir, place});
    return "";
  }

  const Private* FindPrivate(const std::string& dir) const {
    const auto found = std::find_if(private_.begin(), private_.end(),
                                    [&](const Private& one) { return one.dir == dir; });
    return found == private_.end() ? nullptr : &*found;
  }

  Handle scratch_{-1};
  const Credentials& user_;
  std::string root_;  // "" while the host's root is used
  std::vector<Private> private_;
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
  char here[4096];
  if (::getcwd(here, sizeof here) == nullptr) return Failure("the pod's directory is gone");
  std::vector<MountSpec> mounts = container.mounts;
  std::sort(mounts.begin(), mounts.end(),
            [](const MountSpec& a, const MountSpec& b) { return a.target < b.target; });
  if (mounts.empty() && pod.hosts_file.empty()) return "";
  // Everything that is found by its path is opened before anything is mounted.
  MountView view(user);
  // One scratch tree per container: two of them start at once.
  if (std::string why = view.Prepare(std::string(here) + "/mounts/" + container.name); !why.empty())
    return why;
  std::vector<VolumeSource> sources(mounts.size());
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    if (std::string why = sources[i].Open(mounts[i], user); !why.empty()) return why;
  }
  VolumeSource hosts;
  if (!pod.hosts_file.empty()) {
    MountSpec own;
    own.source = pod.hosts_file;
    own.own = true;
    if (std::string why = hosts.Open(own, user); !why.empty()) return why;
  }
  if (::chdir("/proc/self/fd") != 0) return Failure("cannot reach the pod's volumes");
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    if (std::string why = view.Add(sources[i], mounts[i].target, mounts[i].read_only);
        !why.empty()) {
      return why;
    }
  }
  if (!pod.hosts_file.empty() && Exists("/etc/hosts")) {
    if (std::string why = view.Add(hosts, "/etc/hosts", false); !why.empty()) return why;
  }
  return view.Enter();
}

}  // namespace muster::local
