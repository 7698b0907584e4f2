// Bounded logs. All segments but the last have the same size, so segment number and place follow
// from an offset by division, and no index is needed. Writer and reader share no lock: the reader
// may find a segment deleted, and then returns less.
#include "backends/local/process/log_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "backends/local/process/files.h"

namespace muster::local {
namespace {

std::int64_t SegmentBytes(std::int64_t limit) {
  return std::max<std::int64_t>(1, limit / kLogSegments);
}

std::string SegmentPath(const std::string& dir, std::int64_t segment) {
  return dir + "/" + std::to_string(segment);
}

// The numbers of the oldest and newest segment.
struct Extent {
  std::int64_t first = 0, last = -1;
};

Extent FindSegments(const std::string& dir) {
  Extent extent;
  for (const std::string& name : ListDirectory(dir)) {
    if (name.empty() || name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::int64_t segment = std::atoll(name.c_str());
    if (extent.last < 0 || segment < extent.first) extent.first = segment;
    extent.last = std::max(extent.last, segment);
  }
  return extent;
}

std::int64_t FileSize(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<std::int64_t>(info.st_size) : 0;
}

// Up to `max` bytes of the one segment that has the byte at `offset`; "" if there are none.
std::string Bytes(const std::string& dir, std::int64_t segment_bytes, std::int64_t offset,
                  std::size_t max) {
  const std::int64_t place = offset % segment_bytes;
  std::string bytes(std::min(max, static_cast<std::size_t>(segment_bytes - place)), '\0');
  const int fd = ::open(SegmentPath(dir, offset / segment_bytes).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  const ssize_t got = ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(place));
  ::close(fd);
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(0, got)));
  return bytes;
}

}  // namespace

// Continues in the newest segment, so that a restarted container appends to its log.
LogWriter::LogWriter(std::string dir, std::int64_t limit)
    : dir_(std::move(dir)), segment_bytes_(SegmentBytes(limit)) {
  const Extent found = FindSegments(dir_);
  segment_ = std::max<std::int64_t>(0, found.last);
  filled_ = FileSize(SegmentPath(dir_, segment_));
}

LogWriter::~LogWriter() {
  if (fd_ >= 0) ::close(fd_);
}

// Makes a segment with room the open one; deletes the oldest if there are too many.
bool LogWriter::OpenSegment() {
  if (fd_ >= 0 && filled_ < segment_bytes_) return true;
  if (filled_ >= segment_bytes_) {
    if (fd_ >= 0) ::close(fd_);
    ++segment_;
    filled_ = 0;
    if (segment_ >= kLogSegments) {
      const std::string oldest = SegmentPath(dir_, segment_ - kLogSegments);
      ::unlink(oldest.c_str());
      ::unlink(TimesPath(oldest).c_str());
    }
  }
  fd_ =
      ::open(SegmentPath(dir_, segment_).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  times_.Open(TimesPath(SegmentPath(dir_, segment_)));
  return fd_ >= 0;
}

// Splits the data at the ends of segments. A time goes before its output, so that no line is
// without one.
void LogWriter::Write(std::string_view data, std::int64_t wall_us) {
  while (!data.empty()) {
    if (!OpenSegment()) return;
    const std::size_t room = static_cast<std::size_t>(segment_bytes_ - filled_);
    const std::string_view piece = data.substr(0, std::min(room, data.size()));
    if (!mid_line_ || piece.find('\n') < piece.size() - 1) times_.Add(filled_, wall_us);
    const ssize_t wrote = ::write(fd_, piece.data(), piece.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;
    mid_line_ = piece[static_cast<std::size_t>(wrote) - 1] != '\n';
    filled_ += wrote;
    data.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

LogPart ReadLogFiles(const std::string& dir, std::int64_t limit, std::int64_t offset,
                     std::size_t max, bool times) {
  const std::int64_t segment_bytes = SegmentBytes(limit);
  const Extent found = FindSegments(dir);
  LogPart part;
  if (found.last < 0) return part;
  part.dropped = found.first * segment_bytes;
  part.total = found.last * segment_bytes + FileSize(SegmentPath(dir, found.last));
  std::int64_t at = offset < 0 ? std::max<std::int64_t>(0, part.total + offset) : offset;
  at = std::min(at, part.total);
  if (at < part.dropped) {
    if (offset >= 0) {
      part.data = "[muster: " + std::to_string(part.dropped - at) +
                  " bytes of output were dropped here; a container's log keeps its end]\n";
    }
    at = part.dropped;
  }
  const bool whole = at == 0 || (at > part.dropped && Bytes(dir, segment_bytes, at - 1, 1) == "\n");
  std::string data;
  while (data.size() < max && at < part.total) {
    const std::string piece = Bytes(dir, segment_bytes, at, max - data.size());
    // The segment was deleted in between; the next read says so.
    if (piece.empty()) break;
    data += piece;
    at += static_cast<std::int64_t>(piece.size());
  }
  const std::int64_t begin = at - static_cast<std::int64_t>(data.size());
  std::size_t used = data.size();
  part.data += times ? TimedLines(dir, segment_bytes, begin, whole, data, max, &used) : data;
  part.next_offset = begin + static_cast<std::int64_t>(used);
  return part;
}

}  // namespace muster::local
