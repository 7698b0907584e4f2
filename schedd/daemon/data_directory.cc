// Rights are set through open descriptors that follow no link, because the path of a data directory
// may lead through directories of others.
#include "schedd/daemon/data_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "schedd/daemon/memory_directory.h"
#include "schedd/telemetry/log.h"

namespace muster {
namespace {

constexpr mode_t kPassOnly = 0711, kOwnersAlone = 0700, kOwnersFile = 0600;

// Directories of others that the daemon knows; backends/local and schedd/store/pg make them.
constexpr std::array<std::pair<const char*, mode_t>, 4> kKnown = {{{"keys", kOwnersAlone},
                                                                   {"members", kPassOnly},
                                                                   {"members.d", kOwnersAlone},
                                                                   {"postgres", kOwnersAlone}}};

std::string Octal(mode_t mode) {
  char text[16];
  std::snprintf(text, sizeof text, "%04o", static_cast<unsigned>(mode & 07777));
  return text;
}

// Takes away the rights that go beyond `most`; nothing if there are none.
Status Narrow(const std::string& path, mode_t most) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) {
    // A link to another disk: who uses the directory judges it, and refuses it or sets its rights.
    if (errno == ENOENT || errno == ELOOP) return Done{};
    return Error{Code::kFailedPrecondition, "cannot look at " + path + ": " + std::strerror(errno)};
  }
  struct stat info {};
  const bool known = ::fstat(fd, &info) == 0;
  const mode_t before = info.st_mode & 07777, after = before & most;
  const bool narrowed = known && (before == after || ::fchmod(fd, after) == 0);
  const int why = errno;
  ::close(fd);
  if (!narrowed) {
    return Error{Code::kFailedPrecondition, "cannot close " + path +
                                                " to other users: " + std::strerror(why) +
                                                "; it must belong to the daemon's user"};
  }
  if (before != after) {
    Log(LogLevel::kWarning, "daemon", "rights_repaired",
        {{"path", path}, {"before", Octal(before)}, {"now", Octal(after)}});
  }
  return Done{};
}

// True if nothing but the daemon's own files can be expected there: the directory is empty, or a
// daemon has worked in it before. A directory such as /tmp is not closed because of a wrong flag.
bool IsOurs(const std::string& data_dir) {
  struct stat info {};
  if (::stat(data_dir.c_str(), &info) != 0 || info.st_uid != ::geteuid() ||
      (info.st_mode & S_ISVTX) != 0) {
    return false;
  }
  std::error_code failed;
  bool stranger = false;  // the order of a directory's entries tells nothing
  for (const auto& entry : std::filesystem::directory_iterator(data_dir, failed)) {
    const std::string name = entry.path().filename().string();
    if (name == "members" || name == "postgres" || name == "keys") return true;
    stranger = stranger || (name != "run" && name != "members.d" && !name.starts_with("musterd."));
  }
  return !failed && !stranger;
}

// The kubeconfigs of members that were added: DIRECTORY/NAME/kubeconfig.
// A link to anything but our own directory in memory may lead to what others have made.
Status CloseCredentials(const std::string& directory) {
  std::error_code failed;
  const auto kind = std::filesystem::symlink_status(directory, failed).type();
  if (kind != std::filesystem::file_type::directory && !IsMemoryDirectory(directory)) return Done{};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory, failed)) {
    std::error_code gone;
    const auto status = entry.symlink_status(gone);
    const bool is_directory = status.type() == std::filesystem::file_type::directory;
    if (!is_directory && status.type() != std::filesystem::file_type::regular) continue;
    Status narrowed = Narrow(entry.path().string(), is_directory ? kOwnersAlone : kOwnersFile);
    if (!narrowed.ok()) return narrowed;
  }
  return Done{};
}

}  // namespace

Status CloseDataDirectory(const std::string& data_dir) {
  struct stat info {};
  if (::stat(data_dir.c_str(), &info) == 0 && info.st_uid != ::geteuid() && info.st_uid != 0) {
    Log(LogLevel::kWarning, "daemon", "data_directory_of_another_user",
        {{"path", data_dir}, {"uid", static_cast<std::int64_t>(info.st_uid)}});
  }
  if (IsOurs(data_dir)) {
    // The daemon may be told a link to its directory.
    std::error_code failed;
    const std::filesystem::path place = std::filesystem::canonical(data_dir, failed);
    const std::string path = failed ? data_dir : place.string();
    if (Status closed = Narrow(path, kPassOnly); !closed.ok()) return closed;
  }
  if (Status closed = Narrow(data_dir + "/musterd.lock", kOwnersFile); !closed.ok()) return closed;
  for (const auto& [name, mode] : kKnown) {
    if (Status closed = Narrow(data_dir + "/" + name, mode); !closed.ok()) return closed;
  }
  return CloseCredentials(data_dir + "/members.d");
}

std::vector<std::int64_t> UsersOfDatabase(const std::string& data_dir) {
  struct stat info {};
  if (::stat((data_dir + "/postgres").c_str(), &info) != 0 || info.st_uid == ::geteuid()) return {};
  return {static_cast<std::int64_t>(info.st_uid)};
}

// The lock belongs to the open file, so it ends with the process.
Result<int> LockDataDirectory(const std::string& data_dir) {
  std::error_code failed;
  const bool made = std::filesystem::create_directories(data_dir, failed);
  if (failed) return InvalidArgument("cannot create " + data_dir + ": " + failed.message());
  // One made here may be passed through by others (to the pods' directories), but not listed.
  if (made && ::chmod(data_dir.c_str(), kPassOnly) != 0)
    return InvalidArgument("cannot set the mode of " + data_dir);
  const std::string path = data_dir + "/musterd.lock";
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kOwnersFile);
  if (fd < 0) return InvalidArgument("cannot write to " + data_dir + ": " + std::strerror(errno));
  Status closed =
      ::flock(fd, LOCK_EX | LOCK_NB) == 0
          ? CloseDataDirectory(data_dir)
          : Status(Error{Code::kFailedPrecondition, "another musterd uses " + data_dir});
  if (closed.ok()) return fd;
  ::close(fd);
  return closed.error();
}

}  // namespace muster
