#include "schedd/daemon/memory_directory.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>

#include "schedd/telemetry/log.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

// Where every user may make directories of its own.
constexpr const char* kMemory = "/dev/shm";

bool IsMemory(const char* path) {
  struct statfs status {};
  return statfs(path, &status) == 0 && status.f_type == TMPFS_MAGIC;
}

// Everybody may write to /dev/shm, so the directory counts only if it is ours.
bool IsOurs(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == geteuid() && (status.st_mode & 07777) == 0700;
}

// Of this user and of this path.
std::string PlaceOf(const std::string& path) {
  return std::string(kMemory) + "/muster-" + std::to_string(geteuid()) + "-" +
         std::to_string(std::hash<std::string>{}(path));
}

}  // namespace

Status MakeMemoryDirectory(const std::string& path) {
  const std::string place = PlaceOf(path);
  std::error_code failed;
  if (!IsMemory(kMemory) ||
      (mkdir(place.c_str(), 0700) != 0 && !(errno == EEXIST && IsOurs(place)))) {
    Log(LogLevel::kWarning, "daemon", "credentials_on_disk",
        {{"path", path}, {"msg", "there is no directory in memory for the members' credentials"}});
    // A link that a daemon before a reboot has left may lead to what is somebody else's now.
    if (!fs::is_symlink(path, failed) || unlink(path.c_str()) == 0) return Done{};
    return Error{Code::kFailedPrecondition,
                 "cannot remove the link " + path + ": " + std::string(std::strerror(errno))};
  }
  if (fs::read_symlink(path, failed) == place) return Done{};
  fs::remove_all(path, failed);
  if (symlink(place.c_str(), path.c_str()) == 0) return Done{};
  return Error{Code::kFailedPrecondition,
               "cannot make " + path + ": " + std::string(std::strerror(errno))};
}

bool IsMemoryDirectory(const std::string& path) {
  std::error_code failed;
  const std::string place = PlaceOf(path);
  return fs::read_symlink(path, failed) == place && IsOurs(place);
}

void RemoveMemoryDirectory(const std::string& path) {
  std::error_code failed;
  const std::string place = PlaceOf(path);
  if (!IsMemoryDirectory(path)) return;
  fs::remove_all(place, failed);
  fs::remove(path, failed);
}

}  // namespace muster
