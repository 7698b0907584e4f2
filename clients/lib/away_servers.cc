// The file has a line per server: the wall second at which it was found away, a blank, its address.
// It is replaced as a whole. Directories are made, and files written, only below a directory of
// this user: under sudo, with another user's home, root leaves nothing there that this user could
// not replace.
#include "clients/lib/away_servers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "schedd/base/limits_server_list.h"

namespace muster::client {
namespace {

std::int64_t SecondNow() { return ::time(nullptr); }

std::string Above(const std::string& path) { return path.substr(0, path.rfind('/')); }

// True if `path` is a directory of this user, made if need be and if that above it is one.
bool OwnDirectory(const std::string& path, int levels) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0) return S_ISDIR(info.st_mode) && info.st_uid == ::geteuid();
  return levels > 0 && path.find('/', 1) != std::string::npos &&
         OwnDirectory(Above(path), levels - 1) && ::mkdir(path.c_str(), 0700) == 0;
}

// "" for a file that is not there or not trusted.
std::string Content(const std::string& file) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return "";
  struct stat info {};
  std::string text;
  const bool trusted = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
                       info.st_uid == ::geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  if (trusted && info.st_size <= limits::kAwayFileBytes) {
    text.resize(static_cast<std::size_t>(info.st_size));
    const ssize_t got = ::read(fd, text.data(), text.size());
    text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  }
  ::close(fd);
  return text;
}

}  // namespace

AwayServers::AwayServers(std::string file) : file_(std::move(file)) {
  if (file_.empty()) return;
  const std::string text = Content(file_);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    std::int64_t since = 0;
    const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), since);
    if (error != std::errc() || rest == line.data() + line.size() || *rest != ' ') continue;
    since_s_[std::string(line.substr(static_cast<std::size_t>(rest - line.data()) + 1))] = since;
  }
}

// A time that is still to come is that of a clock that was set back since.
bool AwayServers::Has(const Endpoint& server) const {
  const auto found = since_s_.find(server.ToString());
  if (found == since_s_.end()) return false;
  const std::int64_t now = SecondNow();
  return found->second <= now && now - found->second < limits::kServerAwayS;
}

void AwayServers::Add(const Endpoint& server) {
  since_s_[server.ToString()] = SecondNow();
  Write();
}

void AwayServers::Remove(const Endpoint& server) {
  if (since_s_.erase(server.ToString()) != 0) Write();
}

void AwayServers::Write() const {
  if (file_.empty() || file_.front() != '/' || !OwnDirectory(Above(file_), 2)) return;
  std::string text;
  const std::int64_t now = SecondNow();
  for (const auto& [server, since] : since_s_) {
    if (since <= now && now - since < limits::kServerAwayS)
      text += std::to_string(since) + " " + server + "\n";
  }
  std::string fresh = file_ + ".XXXXXX";
  const int fd = ::mkostemp(fresh.data(), O_CLOEXEC);
  if (fd < 0) return;
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (::close(fd) != 0 || !written || ::rename(fresh.c_str(), file_.c_str()) != 0)
    ::unlink(fresh.c_str());
}

std::string AwayFile(const std::string& login_file) {
  return login_file.empty() ? "" : Above(login_file) + "/away-servers";
}

}  // namespace muster::client
