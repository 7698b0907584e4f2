// Lines of several tasks are not mixed: what has no line break yet is kept until it has, or is
// long.
#include "clients/steps/srun/output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace muster::steps {
namespace {

constexpr std::size_t kLongestLine = 64 << 10;
// What a pipe takes at once after it said that it takes something.
constexpr std::size_t kPipePart = 4096;

}  // namespace

Sink::Sink(int fd) : fd_(fd) {
  struct stat what {};
  regular_ = ::fstat(fd, &what) == 0 && (S_ISREG(what.st_mode) || S_ISCHR(what.st_mode)) &&
             ::isatty(fd) == 0;
}

void Sink::Write(std::string_view text) {
  for (Descriptor& copy : copies_) {
    if (!copy) continue;
    const ssize_t put = ::write(copy.get(), text.data(), text.size());
    if (put != static_cast<ssize_t>(text.size())) copy.reset();
  }
  while (!text.empty() && !dead_) {
    std::size_t part = text.size();
    if (!regular_) {
      part = std::min(part, kPipePart);
      pollfd wait{fd_, POLLOUT, 0};
      const int got = ::poll(&wait, 1, 100);
      if (got <= 0) {
        if (busy_) busy_();
        continue;
      }
    }
    const ssize_t put = ::write(fd_, text.data(), part);
    if (put >= 0) {
      text.remove_prefix(static_cast<std::size_t>(put));
    } else if (errno != EINTR && errno != EAGAIN) {
      dead_ = true;
    }
  }
}

void TaskStream::Take(std::string_view text) {
  if (to == nullptr) return;
  if (label.empty()) return to->Write(text);
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    out += label;
    out += text.substr(0, end);
    if (out.back() != '\n') out += '\n';
    text.remove_prefix(end);
  }
  to->Write(out);
}

bool TaskStream::Read() {
  char buffer[64 << 10];
  const ssize_t got = ::read(from.get(), buffer, sizeof(buffer));
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (got == 0) return false;
  std::string_view text(buffer, static_cast<std::size_t>(got));
  if (raw && label.empty()) return Take(text), true;
  const auto last = text.rfind('\n');
  if (last != std::string_view::npos) {
    if (line.empty()) {
      Take(text.substr(0, last + 1));
    } else {
      line += text.substr(0, last + 1);
      Take(line);
      line.clear();
    }
    text.remove_prefix(last + 1);
  }
  line += text;
  if (line.size() > kLongestLine) {
    Take(line);
    line.clear();
  }
  return true;
}

void TaskStream::Finish() {
  if (!line.empty()) Take(line);
  line.clear();
  from.reset();
}

}  // namespace muster::steps
