// A record is two numbers, each as a difference to the record before: the offset and the time. A
// number is written in groups of seven bits, the lowest first; the highest bit of a byte says that
// more follow. Times may go back with the clock, so their sign is kept in the lowest bit.
#include "backends/local/process/log_times.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "schedd/base/time.h"

namespace muster::local {
namespace {

constexpr unsigned kGroupBits = 7;
constexpr unsigned char kMore = 0x80;
// A number of 64 bits has no more groups.
constexpr unsigned kMostBits = 63;

void Append(std::uint64_t number, std::string* out) {
  for (; number >= kMore; number >>= kGroupBits)
    *out += static_cast<char>(static_cast<unsigned char>(number) | kMore);
  *out += static_cast<char>(number);
}

std::uint64_t Folded(std::int64_t number) {
  const auto bits = static_cast<std::uint64_t>(number);
  return number < 0 ? ~(bits << 1) : bits << 1;
}

std::int64_t Unfolded(std::uint64_t number) {
  const std::uint64_t half = number >> 1;
  return static_cast<std::int64_t>((number & 1) != 0 ? ~half : half);
}

// The number at *at, which moves behind it; nothing if the text ends before.
std::optional<std::uint64_t> Next(std::string_view text, std::size_t* at) {
  std::uint64_t number = 0;
  for (unsigned bits = 0; *at < text.size() && bits <= kMostBits; bits += kGroupBits) {
    const auto byte = static_cast<unsigned char>(text[(*at)++]);
    number |= static_cast<std::uint64_t>(byte & ~kMore) << bits;
    if ((byte & kMore) == 0) return number;
  }
  return std::nullopt;
}

std::string Content(const std::string& path) {
  std::string text;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char buffer[16 << 10];
  for (ssize_t got = 0; (got = ::read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  ::close(fd);
  return text;
}

// The records of `text`; *whole is where the last one ends.
std::vector<LogTime> Records(std::string_view text, std::size_t* whole) {
  std::vector<LogTime> times;
  LogTime last;
  *whole = 0;
  for (std::size_t at = 0;;) {
    const std::optional<std::uint64_t> offset = Next(text, &at);
    const std::optional<std::uint64_t> ms = Next(text, &at);
    if (!offset || !ms) return times;
    last.offset = SaturatingAdd(last.offset, static_cast<std::int64_t>(*offset));
    last.ms = SaturatingAdd(last.ms, Unfolded(*ms));
    times.push_back(last);
    *whole = at;
  }
}

}  // namespace

std::string TimesPath(const std::string& segment_path) { return segment_path + ".times"; }

std::vector<LogTime> ReadTimes(const std::string& path) {
  std::size_t whole = 0;
  return Records(Content(path), &whole);
}

TimesWriter::~TimesWriter() {
  if (fd_ >= 0) ::close(fd_);
}

// A record that a killed supervisor left unfinished is cut away, so that the next one can be read.
void TimesWriter::Open(const std::string& path) {
  if (fd_ >= 0) ::close(fd_);
  const std::string text = Content(path);
  std::size_t whole = 0;
  const std::vector<LogTime> times = Records(text, &whole);
  empty_ = times.empty();
  last_ = times.empty() ? LogTime{} : times.back();
  fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd_ >= 0 && whole < text.size() && ::ftruncate(fd_, static_cast<off_t>(whole)) != 0) {
    ::close(fd_);
    fd_ = -1;
  }
}

void TimesWriter::Add(std::int64_t offset, std::int64_t wall_us) {
  const LogTime next{offset, wall_us / kMicrosPerMilli};
  // What comes in the same millisecond is of the record before.
  if (fd_ < 0 || (!empty_ && next.ms == last_.ms)) return;
  std::string record;
  Append(static_cast<std::uint64_t>(next.offset - last_.offset), &record);
  Append(Folded(next.ms - last_.ms), &record);
  if (::write(fd_, record.data(), record.size()) != static_cast<ssize_t>(record.size())) {
    // What follows half a record could not be read.
    ::close(fd_);
    fd_ = -1;
    return;
  }
  empty_ = false;
  last_ = next;
}

std::string TimedLines(const std::string& dir, std::int64_t segment_bytes, std::int64_t offset,
                       bool whole, std::string_view data, std::size_t max, std::size_t* used) {
  std::string out;
  std::vector<LogTime> times;
  std::int64_t segment = -1;
  std::size_t at = 0;
  while (at < data.size() && out.size() < max) {
    const std::size_t end = data.find('\n', at);
    const std::size_t next = end == std::string_view::npos ? data.size() : end + 1;
    const std::int64_t place = offset + static_cast<std::int64_t>(at);
    if (place / segment_bytes != segment) {
      segment = place / segment_bytes;
      times = ReadTimes(TimesPath(dir + "/" + std::to_string(segment)));
    }
    if (at > 0 || whole) {
      const auto after = std::upper_bound(
          times.begin(), times.end(), place % segment_bytes,
          [](std::int64_t value, const LogTime& time) { return value < time.offset; });
      if (after != times.begin())
        out += FormatRfc3339Micros(WallTime{MillisToMicros((after - 1)->ms)}) + ' ';
    }
    out += data.substr(at, next - at);
    at = next;
  }
  *used = at;
  return out;
}

}  // namespace muster::local
