// Opening volumes safely. A subPath comes from the job and may contain links that a container has
// made in the volume. openat2 with RESOLVE_BENEATH makes the kernel refuse every path that leaves
// the volume; older kernels get WalkBeneath, which goes component by component and refuses links.
#include "backends/local/supervisor/volume_source.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "backends/local/process/files.h"

namespace muster::local {
namespace {

// openat2 answers EAGAIN if a directory was moved during the look-up.
constexpr int kTries = 16;

// OpenBeneath without openat2: no "..", no links.
int WalkBeneath(int root, const std::string& path) {
  int at = ::openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  std::size_t begin = 0;
  while (at >= 0 && begin < path.size()) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    begin = end + 1;
    if (name.empty() || name == ".") continue;
    struct stat info {};
    const int next =
        name == ".." ? -1 : ::openat(at, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
    int why = name == ".." ? EXDEV : errno;
    ::close(at);
    if (next >= 0 && ::fstat(next, &info) == 0 && S_ISLNK(info.st_mode)) {
      ::close(next);
      errno = ELOOP;
      return -1;
    }
    if (next < 0) errno = why;
    at = next;
  }
  return at;
}

// The sentence for a failed open, by errno.
std::string CannotOpen(const MountSpec& mount) {
  const int why = errno;
  if (!mount.sub_path.empty() && (why == EXDEV || why == ELOOP))
    return "the subPath \"" + mount.sub_path + "\" leaves its volume";
  const std::string what = mount.sub_path.empty()
                               ? "the volume's path " + mount.source
                               : "the subPath \"" + mount.sub_path + "\" of a volume";
  return what + " cannot be opened as the container's user: " + std::strerror(why);
}

}  // namespace

int OpenBeneath(int root, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  for (int tries = 0; tries < kTries; ++tries) {
    const long fd = ::syscall(SYS_openat2, root, path.c_str(), &how, sizeof how);
    if (fd >= 0) return static_cast<int>(fd);
    if (errno == ENOSYS) return WalkBeneath(root, path);
    if (errno != EAGAIN) return -1;
  }
  return -1;
}

VolumeSource::~VolumeSource() {
  if (fd_ >= 0) ::close(fd_);
}

std::string VolumeSource::Open(const MountSpec& mount, const Credentials& user) {
  if (mount.own) {
    fd_ = ::open(mount.source.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd_ < 0) return CannotOpen(mount);
  }
  const ScopedUser as(user);
  if (!as.problem().empty()) return as.problem();
  if (!mount.own) {
    if (mount.create) {
      if (Status made = MakeDirectories(mount.source); !made.ok()) return made.error().detail;
    }
    fd_ = ::open(mount.source.c_str(), O_PATH | O_CLOEXEC);
    if (fd_ < 0) return CannotOpen(mount);
  }
  if (mount.sub_path.empty()) return "";
  const int part = OpenBeneath(fd_, mount.sub_path);
  const std::string problem = part < 0 ? CannotOpen(mount) : "";
  ::close(fd_);
  fd_ = part;
  return problem;
}

std::string VolumeSource::path() const { return std::to_string(fd_); }

bool VolumeSource::is_directory() const {
  struct stat info {};
  return ::fstat(fd_, &info) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace muster::local
