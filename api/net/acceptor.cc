// Accepts in a loop of poll and accept4 until Stop writes to the eventfd `wake_`. TCP and Unix
// sockets differ only in how they are bound.
//
// Without a free descriptor accept fails and the connection stays in the backlog, so
// level-triggered polling would return at once for ever and the client would hang. Therefore: first
// the owner closes idle connections (FullCallback); if that is not enough, the acceptor closes its
// spare descriptor, uses it to accept and close waiting clients one after another, so that they see
// the end at once, takes the spare back and pauses.
#include "api/net/acceptor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <utility>

namespace muster::net {
namespace {

constexpr int kBacklog = 1024;
// Clients that are refused before the next pause of kPauseMs, while no descriptor is free.
constexpr int kRefusedAtOnce = 64;
constexpr int kPauseMs = 100;

// A descriptor whose only use is that it can be closed.
int OpenSpare() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

void CloseOnce(int* fd) {
  if (*fd >= 0) ::close(*fd);
  *fd = -1;
}

union Address {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

// Writes the socket address of `host` and `port`. Returns its size; 0 if `host` is no IP address.
socklen_t Fill(const std::string& host, int port, Address* out) {
  std::memset(out, 0, sizeof *out);
  const auto number = htons(static_cast<std::uint16_t>(port));
  if (::inet_pton(AF_INET, host.c_str(), &out->v4.sin_addr) == 1) {
    out->v4.sin_family = AF_INET;
    out->v4.sin_port = number;
    return sizeof out->v4;
  }
  if (::inet_pton(AF_INET6, host.c_str(), &out->v6.sin6_addr) == 1) {
    out->v6.sin6_family = AF_INET6;
    out->v6.sin6_port = number;
    return sizeof out->v6;
  }
  return 0;
}

// Removes the socket that a daemon left behind which is no more; kAlreadyExists if one answers.
Status ClearSocketPath(const sockaddr_un& address) {
  const std::string path = address.sun_path;
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return Done{};
  if (!S_ISSOCK(found.st_mode)) return AlreadyExists(path + " exists and is no socket");
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return Unavailable("cannot open a socket for " + path);
  const bool refused =
      ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
      errno == ECONNREFUSED;
  ::close(fd);
  if (!refused) return AlreadyExists("another process answers at " + path);
  if (::unlink(path.c_str()) == 0) return Done{};
  return Unavailable("cannot remove the old socket " + path + ": " + std::strerror(errno));
}

}  // namespace

std::string LoopbackAddress(const std::string& host) {
  if (host == "localhost") return "127.0.0.1";
  if (host == "::1") return host;
  in_addr address{};
  const bool v4 = host.starts_with("127.") && ::inet_pton(AF_INET, host.c_str(), &address) == 1;
  return v4 ? host : "";
}

// 1024, the usual default, if the system does not say.
int DescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  return limit.rlim_cur > INT_MAX ? INT_MAX : static_cast<int>(limit.rlim_cur);
}

Acceptor::Acceptor(SocketCallback on_socket, FullCallback on_full)
    : on_socket_(std::move(on_socket)), on_full_(std::move(on_full)) {}

Acceptor::~Acceptor() { Stop(); }

Status Acceptor::Start(const std::string& address, int port) {
  const auto failed = [&](const char* what) {
    const Error error = Unavailable(std::string(what) + " " + address + ":" + std::to_string(port) +
                                    ": " + std::strerror(errno));
    CloseOnce(&listener_);
    return error;
  };
  Address bound;
  socklen_t size = Fill(address, port, &bound);
  if (size == 0) return InvalidArgument("\"" + address + "\" is not an IP address");
  listener_ = ::socket(bound.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener_ < 0) return failed("cannot open a socket for");
  const int one = 1;
  ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (::bind(listener_, &bound.any, size) != 0 || ::listen(listener_, kBacklog) != 0 ||
      ::getsockname(listener_, &bound.any, &size) != 0) {
    return failed("cannot listen on");
  }
  const bool v4 = bound.any.sa_family == AF_INET;
  port_ = ntohs(v4 ? bound.v4.sin_port : bound.v6.sin6_port);
  return Begin();
}

// The permissions are set before anybody can connect: between bind and listen.
Status Acceptor::StartUnix(const std::string& path, mode_t mode) {
  const auto failed = [&](const std::string& what) {
    const Error error = Unavailable(what + " " + path + ": " + std::strerror(errno));
    CloseOnce(&listener_);
    return error;
  };
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path[0] != '/' || path.size() >= sizeof address.sun_path) {
    return InvalidArgument("the socket path \"" + path + "\" must be absolute and at most " +
                           std::to_string(sizeof address.sun_path - 1) + " bytes long");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const std::string directory = path.substr(0, path.rfind('/'));
  // Everybody may come to the socket, whatever the daemon's umask is.
  const bool is_new = !directory.empty() && ::mkdir(directory.c_str(), 0755) == 0;
  if (is_new ? ::chmod(directory.c_str(), 0755) != 0 : !directory.empty() && errno != EEXIST)
    return failed("cannot make the directory of");
  Status free = ClearSocketPath(address);
  if (!free.ok()) return free;
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener_ < 0) return failed("cannot open a socket for");
  struct stat made {};
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::chmod(path.c_str(), mode) != 0 || ::stat(path.c_str(), &made) != 0 ||
      ::listen(listener_, kBacklog) != 0) {
    return failed("cannot listen on");
  }
  path_ = path;
  device_ = made.st_dev;
  inode_ = made.st_ino;
  return Begin();
}

Status Acceptor::Begin() {
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  spare_ = OpenSpare();
  if (wake_ < 0) {
    CloseOnce(&listener_);
    return Unavailable(std::string("cannot wait for connections: ") + std::strerror(errno));
  }
  thread_ = std::thread([this] { Run(); });
  return Done{};
}

void Acceptor::Stop() {
  if (thread_.joinable()) {
    // Any value makes the eventfd readable, which ends the poll in Run.
    const std::uint64_t one = 1;
    (void)!::write(wake_, &one, sizeof one);
    thread_.join();
  }
  // Another daemon may have put its own socket there meanwhile.
  struct stat now {};
  if (!path_.empty() && ::stat(path_.c_str(), &now) == 0 && now.st_dev == device_ &&
      now.st_ino == inode_) {
    ::unlink(path_.c_str());
  }
  path_.clear();
  CloseOnce(&listener_);
  CloseOnce(&wake_);
  CloseOnce(&spare_);
}

void Acceptor::Run() {
  pollfd waiting[2] = {{wake_, POLLIN, 0}, {listener_, POLLIN, 0}};
  for (;;) {
    if (::poll(waiting, 2, -1) < 0 && errno != EINTR) return;
    if (waiting[0].revents != 0) return;
    bool no_descriptor = false;
    while (AcceptOne(&no_descriptor)) {
    }
    if (!no_descriptor) continue;
    on_full_();
    no_descriptor = false;
    while (AcceptOne(&no_descriptor)) {
    }
    if (!no_descriptor) continue;
    RefuseWaiting();
    // Polling the listener would return at once for the clients that still wait.
    if (::poll(waiting, 1, kPauseMs) > 0) return;
  }
}

bool Acceptor::AcceptOne(bool* no_descriptor) {
  const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd >= 0) {
    on_socket_(fd);
    return true;
  }
  // The client has gone meanwhile: an error of that connection, not of the listener.
  if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO) return true;
  *no_descriptor = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
  return false;
}

void Acceptor::RefuseWaiting() {
  if (spare_ < 0) spare_ = OpenSpare();
  if (spare_ < 0) return;
  CloseOnce(&spare_);
  for (int i = 0; i < kRefusedAtOnce; ++i) {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) break;
    ::close(fd);
  }
  spare_ = OpenSpare();
}

}  // namespace muster::net
