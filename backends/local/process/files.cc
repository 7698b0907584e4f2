// Small files, whole or not at all.
#include "backends/local/process/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace muster::local {
namespace {

Error SystemError(const std::string& what, int code) {
  return Unavailable(what + ": " + std::strerror(code));
}

bool WriteAll(int fd, std::string_view data) {
  while (!data.empty()) {
    const ssize_t wrote = ::write(fd, data.data(), data.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return false;
    data.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

std::vector<std::string> NamesIn(const std::string& path, bool directories_only) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator walk(path, error);
  while (!error && walk != std::filesystem::directory_iterator()) {
    std::error_code unknown;
    if (!directories_only || (walk->is_directory(unknown) && !walk->is_symlink(unknown)))
      names.push_back(walk->path().filename().string());
    walk.increment(error);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

Result<std::string> ReadWholeFile(const std::string& path, std::size_t most) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return NotFound("there is no file " + path);
    return SystemError("cannot read " + path, errno);
  }
  std::string data;
  char buffer[16384];
  while (data.size() < most) {
    const ssize_t got = ::read(fd, buffer, std::min(sizeof buffer, most - data.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const int code = errno;
      ::close(fd);
      return SystemError("cannot read " + path, code);
    }
    if (got == 0) break;
    data.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(fd);
  return data;
}

Status WriteWholeFile(const std::string& path, std::string_view data, unsigned mode) {
  const std::string temporary = path + ".tmp";
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  if (fd < 0) return SystemError("cannot write " + path, errno);
  // Set explicitly: a ConfigMap's mode, such as that of a script, must not depend on the umask.
  const bool ok = ::fchmod(fd, mode) == 0 && WriteAll(fd, data);
  const int code = errno;
  ::close(fd);
  if (!ok || ::rename(temporary.c_str(), path.c_str()) != 0) {
    const int why = ok ? errno : code;
    ::unlink(temporary.c_str());
    return SystemError("cannot write " + path, why);
  }
  return Done{};
}

// mkdir is followed by chmod, because the umask may have taken bits away.
Status MakeDirectories(const std::string& path, unsigned mode) {
  if (IsDirectory(path)) return Done{};
  const std::size_t slash = path.rfind('/');
  if (slash != std::string::npos && slash > 0) {
    if (Status parent = MakeDirectories(path.substr(0, slash)); !parent.ok()) return parent;
  }
  if (::mkdir(path.c_str(), mode) != 0) {
    if (errno == EEXIST && IsDirectory(path)) return Done{};
    return SystemError("cannot make the directory " + path, errno);
  }
  if (::chmod(path.c_str(), mode) != 0) return SystemError("cannot set the mode of " + path, errno);
  return Done{};
}

Status RemoveTree(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) return Unavailable("cannot remove " + path + ": " + error.message());
  return Done{};
}

std::vector<std::string> ListDirectory(const std::string& path) { return NamesIn(path, false); }

std::vector<std::string> ListDirectories(const std::string& path) { return NamesIn(path, true); }

bool PathExists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

bool IsDirectory(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace muster::local
