// When the lines of a container's output came: beside each segment of its log (log_files.h) a file
// "<n>.times". A record says where a piece of output begins in which a line begins, and when the
// supervisor read it, to the millisecond. A record takes two bytes or a few more.
//
// TimesWriter is used by LogWriter, TimedLines by the reader; both may run at once on one file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::local {

struct LogTime {
  std::int64_t offset = 0;  // in the segment
  std::int64_t ms = 0;      // since 1970
};

/// The name of the file beside a segment.
std::string TimesPath(const std::string& segment_path);
/// What a file of times holds; a record that is not whole ends it.
std::vector<LogTime> ReadTimes(const std::string& path);

/// Not thread-safe.
class TimesWriter {
 public:
  TimesWriter() = default;
  ~TimesWriter();
  TimesWriter(const TimesWriter&) = delete;
  TimesWriter& operator=(const TimesWriter&) = delete;
  /// Continues the file of a segment.
  void Open(const std::string& path);
  /// A piece of output begins at `offset`. On a full disk its time is lost.
  void Add(std::int64_t offset, std::int64_t wall_us);

 private:
  int fd_ = -1;
  bool empty_ = true;
  LogTime last_;
};

/// `data`, which begins at `offset` of the whole log, with the time of each line and a space before
/// it (FormatRfc3339Micros). `whole`: a line begins with the first byte. A line whose time is not
/// on record, because an older supervisor wrote it, stays as it is. Ends after the line with which
/// the text is `max` bytes long or longer; *used is how much of `data` is in it.
std::string TimedLines(const std::string& dir, std::int64_t segment_bytes, std::int64_t offset,
                       bool whole, std::string_view data, std::size_t max, std::size_t* used);

}  // namespace muster::local
