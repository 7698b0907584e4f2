// Empty lines and lines that begin with '#' are skipped.
#include "schedd/store/seal/key_file.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "schedd/base/check.h"

namespace muster::seal {
namespace {

// A few keys of 45 bytes and some comments.
constexpr std::size_t kKeyFileBytes = 64 << 10;

Error KeyFileProblem(const std::string& path, const std::string& why) {
  return {Code::kFailedPrecondition, "the key file " + path + " " + why};
}

// The directory of a path, for open(2).
std::string DirectoryOf(const std::string& path) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  return directory.empty() ? "." : directory;
}

// What a directory has is on disk when this returns true; errno says why it is not.
bool SyncDirectory(const std::string& directory) {
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool synced = fsync(fd) == 0;
  const int failure = errno;
  close(fd);
  errno = failure;
  return synced;
}

Error NotMade(const std::string& path, int failure) {
  return KeyFileProblem(path, std::string("cannot be made: ") + std::strerror(failure));
}

// Written beside its place, synced and linked into it, so that a crash leaves a whole file or none,
// and two daemons that start at once agree on one. The directories are synced as well: what is
// sealed with a key that a power loss takes away can never be read again.
Status MakeKeyFile(const std::string& path) {
  const std::string directory = DirectoryOf(path);
  if (mkdir(directory.c_str(), 0700) == 0) {
    if (!SyncDirectory(DirectoryOf(directory))) return NotMade(path, errno);
  } else if (errno != EEXIST) {
    return NotMade(path, errno);
  }
  MUSTER_CHECK(sodium_init() >= 0);
  unsigned char key[kKeyBytes];
  randombytes_buf(key, sizeof key);
  char text[sodium_base64_ENCODED_LEN(kKeyBytes, sodium_base64_VARIANT_ORIGINAL)];
  sodium_bin2base64(text, sizeof text, key, sizeof key, sodium_base64_VARIANT_ORIGINAL);
  const std::string content =
      "# Keys that seal the Secrets of this installation. The first one is current.\n" +
      std::string(text) + "\n";
  const std::string fresh = path + "." + std::to_string(getpid());
  const int fd = open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const bool written =
      fd >= 0 &&
      write(fd, content.data(), content.size()) == static_cast<ssize_t>(content.size()) &&
      fsync(fd) == 0;
  const int failure = errno;
  if (fd >= 0) close(fd);
  if (!written) {
    unlink(fresh.c_str());
    return NotMade(path, failure);
  }
  const bool linked = link(fresh.c_str(), path.c_str()) == 0 || errno == EEXIST;
  const int not_linked = linked ? 0 : errno;
  unlink(fresh.c_str());
  if (!linked) return NotMade(path, not_linked);
  // Also where another daemon made it: it may not have come so far yet.
  if (!SyncDirectory(directory)) return NotMade(path, errno);
  return Done{};
}

Result<std::string> ReadPrivateFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return KeyFileProblem(path, std::string("cannot be read: ") + std::strerror(errno));
  struct stat status {};
  std::string text(kKeyFileBytes, '\0');
  const bool known = fstat(fd, &status) == 0;
  const ssize_t size = read(fd, text.data(), text.size());
  close(fd);
  if (!known || !S_ISREG(status.st_mode) || size < 0)
    return KeyFileProblem(path, "is not a file that can be read");
  if (status.st_uid != geteuid() && status.st_uid != 0)
    return KeyFileProblem(path, "belongs to another user");
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return KeyFileProblem(path, "may be used by others; run chmod 600 on it");
  text.resize(static_cast<std::size_t>(size));
  return text;
}

}  // namespace

Result<std::vector<Key>> ReadOrMakeKeys(const std::string& path) {
  if (access(path.c_str(), F_OK) != 0 && errno == ENOENT) {
    const Status made = MakeKeyFile(path);
    if (!made.ok()) return made.error();
  }
  const Result<std::string> text = ReadPrivateFile(path);
  if (!text.ok()) return text.error();
  std::vector<Key> keys;
  std::istringstream lines(*text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (line.empty() || line.front() == '#') continue;
    std::array<unsigned char, kKeyBytes> bytes{};
    std::size_t size = 0;
    if (sodium_base642bin(bytes.data(), bytes.size(), line.data(), line.size(), nullptr, &size,
                          nullptr, sodium_base64_VARIANT_ORIGINAL) != 0 ||
        size != kKeyBytes) {
      return KeyFileProblem(
          path, "has no key in line " + std::to_string(number) + ": a key is 32 bytes in base64");
    }
    keys.push_back(MakeKey(bytes));
  }
  if (keys.empty()) return KeyFileProblem(path, "has no key");
  return keys;
}

}  // namespace muster::seal
