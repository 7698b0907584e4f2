// Reading files that a kubeconfig names. The check of the place is made on the open descriptor
// (/proc/self/fd), not on the path, so that a link that changes between check and reading gains
// nothing. A link of the allowed directory itself may change too (the operator's credentials are
// rotated): the file must lie below the directory as it is before or after the opening.
#include "backends/k8s/client/member_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace muster::k8s {
namespace {

// A bundle of all public certificate authorities has 220 KB.
constexpr std::int64_t kMostBytes = 1 << 20;

FileStamp StampFrom(const struct stat& info) {
  return {info.st_mtim.tv_sec * 1'000'000'000LL + info.st_mtim.tv_nsec, info.st_size, info.st_ino};
}

// Owns a file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  const int fd_;
};

// The directories without links; those that do not exist are left out.
std::vector<std::string> Resolved(const std::vector<std::string>& directories) {
  std::vector<std::string> out;
  for (const auto& path : directories) {
    std::error_code error;
    const auto real = std::filesystem::canonical(path.empty() ? "." : path, error);
    if (!error && std::filesystem::is_directory(real, error)) out.push_back(real.string());
  }
  return out;
}

// Whether the open file lies below one of the directories, which have no links.
bool LiesBelow(int fd, const std::vector<std::string>& directories) {
  std::error_code error;
  const auto real = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), error);
  if (error) return false;
  for (const auto& directory : directories) {
    const std::string prefix = directory.ends_with('/') ? directory : directory + "/";
    if (real.string().starts_with(prefix)) return true;
  }
  return false;
}

}  // namespace

Result<FileContent> ReadMemberFile(const std::string& path,
                                   const std::vector<std::string>& allowed_directories) {
  const std::vector<std::string> before = Resolved(allowed_directories);
  // Opened without blocking, so that a named pipe does not hold the thread.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) {
    return InvalidArgument(errno == ENOENT || errno == ENOTDIR
                               ? "does not exist"
                               : std::string("cannot be opened: ") + std::strerror(errno));
  }
  if (!LiesBelow(file.get(), before) && !LiesBelow(file.get(), Resolved(allowed_directories)))
    return InvalidArgument("lies outside the allowed directory");
  struct stat info {};
  if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode))
    return InvalidArgument("is not a regular file");
  if (info.st_size > kMostBytes) return InvalidArgument("has over 1 MiB");
  FileContent out{{}, StampFrom(info)};
  char piece[4096];
  for (;;) {
    const ssize_t n = ::read(file.get(), piece, sizeof(piece));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return InvalidArgument(std::string("cannot be read: ") + std::strerror(errno));
    if (n == 0) return out;
    out.content.append(piece, static_cast<std::size_t>(n));
    if (static_cast<std::int64_t>(out.content.size()) > kMostBytes)
      return InvalidArgument("has over 1 MiB");
  }
}

FileStamp StampOf(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  return StampFrom(info);
}

}  // namespace muster::k8s
