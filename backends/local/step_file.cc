// The file is opened anew for each read: it is read rarely, and an attempt may wait for days.
#include "backends/local/step_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "backends/local/pods/step_line.h"
#include "schedd/base/limits_slurm_world.h"

namespace muster::local {
namespace {

// A descriptor of the file; -1 if there is none that may be read.
int OpenStepFile(const std::string& dir, uid_t owner) {
  const int at = ::open(dir.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (at < 0) return -1;
  const int fd =
      ::openat(at, "steps.jsonl", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  ::close(at);
  struct stat info {};
  if (fd >= 0 && ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == owner)
    return fd;
  if (fd >= 0) ::close(fd);
  return -1;
}

std::string ReadAt(int fd, std::int64_t offset, std::size_t most) {
  std::string data(most, '\0');
  std::size_t filled = 0;
  while (filled < most) {
    const ssize_t got = ::pread(fd, data.data() + filled, most - filled,
                                offset + static_cast<std::int64_t>(filled));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    filled += static_cast<std::size_t>(got);
  }
  data.resize(filled);
  return data;
}

}  // namespace

std::vector<StepRecord> StepFile::ReadOn(bool* more) {
  *more = false;
  std::vector<StepRecord> steps;
  if (offset_ >= limits::kStepFileBytes) return steps;
  const int fd = OpenStepFile(dir_, owner_);
  if (fd < 0) return steps;
  const std::string data = ReadAt(fd, offset_, limits::kStepReadBytes);
  ::close(fd);
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = data.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string_view line = std::string_view(data).substr(begin, end - begin);
    std::optional<StepRecord> step;
    if (line.size() <= limits::kStepLineBytes) step = ReadStepLine(line);
    if (step) {
      steps.push_back(std::move(*step));
    } else {
      ++skipped_;
    }
  }
  // A line that fills everything has no end in sight: it is passed over piece by piece.
  if (begin == 0 && data.size() == limits::kStepReadBytes) {
    begin = data.size();
    ++skipped_;
  }
  offset_ += static_cast<std::int64_t>(begin);
  *more = data.size() == limits::kStepReadBytes;
  return steps;
}

}  // namespace muster::local
