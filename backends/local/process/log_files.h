// A container's output on disk, bounded: segments log/<container>/<n>. When the sum passes the
// limit, the oldest segment is deleted, so that the end of the output is always kept. Offsets count
// from the first byte that the container ever wrote.
//
// LogWriter is used by the supervisor, ReadLogFiles by the backend; both may run at once on one
// log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "backends/local/process/log_times.h"
#include "schedd/base/result.h"

namespace muster::local {

/// Segments are deleted one at a time, so at least 7/8 of the limit is kept.
inline constexpr int kLogSegments = 8;

/// Not thread-safe.
class LogWriter {
 public:
  /// Appends to what `dir` already holds. `limit` bytes in all.
  LogWriter(std::string dir, std::int64_t limit);
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;
  /// Output that came at `wall_us`. On a full disk it is lost; the container runs on.
  void Write(std::string_view data, std::int64_t wall_us);

 private:
  bool OpenSegment();

  std::string dir_;
  std::int64_t segment_bytes_;
  std::int64_t segment_ = 0;  // the one being written
  std::int64_t filled_ = 0;   // bytes in it
  bool mid_line_ = false;     // the last byte ended no line
  TimesWriter times_;
  int fd_ = -1;
};

struct LogPart {
  std::string data;
  std::int64_t next_offset = 0;
  std::int64_t total = 0;    // bytes ever written
  std::int64_t dropped = 0;  // the first `dropped` bytes are gone
};

/// Up to `max` bytes from `offset` (negative: from the end). An offset in the deleted part
/// continues at the first byte that is kept; the data then begins with one line that says how much
/// is missing (not counted in offsets). With `times` the time of each line stands before it
/// (TimedLines), not counted in offsets.
LogPart ReadLogFiles(const std::string& dir, std::int64_t limit, std::int64_t offset,
                     std::size_t max, bool times);

}  // namespace muster::local
