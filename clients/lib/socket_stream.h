// A connected socket with a deadline on every read and write, as Beast's synchronous algorithms
// need it (SyncReadStream, SyncWriteStream). It uses plain poll and recv, because a command that
// runs for a few milliseconds should not build an event loop first.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <cerrno>
#include <cstdint>

#include "clients/lib/deadline.h"

namespace muster::client {

/// Owns a non-blocking socket.
class SocketStream {
 public:
  using ErrorCode = boost::system::error_code;

  explicit SocketStream(int fd) : fd_(fd) {}
  ~SocketStream() {
    if (fd_ >= 0) ::close(fd_);
  }
  SocketStream(const SocketStream&) = delete;
  SocketStream& operator=(const SocketStream&) = delete;

  /// NowMs() scale; 0: none.
  void set_deadline(std::int64_t deadline_ms) { deadline_ms_ = deadline_ms; }

  /// Sends what the socket takes at once, and drops the rest.
  void SendNow(const void* bytes, std::size_t size) const {
    (void)!::send(fd_, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  template <class Buffers>
  std::size_t read_some(const Buffers& buffers, ErrorCode& ec) {
    const boost::asio::mutable_buffer part = *boost::asio::buffer_sequence_begin(buffers);
    return Transfer(
        POLLIN, ec, [&] { return ::recv(fd_, part.data(), part.size(), 0); }, true);
  }
  template <class Buffers>
  std::size_t read_some(const Buffers& buffers) {
    ErrorCode ec;
    const std::size_t n = read_some(buffers, ec);
    if (ec) throw boost::system::system_error(ec);
    return n;
  }
  template <class Buffers>
  std::size_t write_some(const Buffers& buffers, ErrorCode& ec) {
    iovec parts[16];
    msghdr message{};
    message.msg_iov = parts;
    for (auto it = boost::asio::buffer_sequence_begin(buffers);
         it != boost::asio::buffer_sequence_end(buffers) && message.msg_iovlen < 16; ++it) {
      const boost::asio::const_buffer part(*it);
      parts[message.msg_iovlen++] = {const_cast<void*>(part.data()), part.size()};
    }
    return Transfer(
        POLLOUT, ec, [&] { return ::sendmsg(fd_, &message, MSG_NOSIGNAL); }, false);
  }
  template <class Buffers>
  std::size_t write_some(const Buffers& buffers) {
    ErrorCode ec;
    const std::size_t n = write_some(buffers, ec);
    if (ec) throw boost::system::system_error(ec);
    return n;
  }

 private:
  /// Repeats `call` until it moves bytes, fails, or the deadline passes. `zero_is_end`: 0 bytes
  /// mean that the peer has closed, as recv says it.
  template <class Call>
  std::size_t Transfer(short events, ErrorCode& ec, Call call, bool zero_is_end) {
    for (;;) {
      const ssize_t n = call();
      if (n > 0 || (n == 0 && !zero_is_end)) return ec = {}, static_cast<std::size_t>(n);
      if (n == 0) return ec = boost::asio::error::eof, 0;
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) {
        return ec = ErrorCode(errno, boost::system::system_category()), 0;
      }
      if (!WaitFor(events)) return ec = boost::asio::error::timed_out, 0;
    }
  }

  /// False when the deadline passes first.
  bool WaitFor(short events) const {
    for (;;) {
      int timeout = -1;
      if (deadline_ms_ != 0) {
        const std::int64_t left = deadline_ms_ - NowMs();
        if (left <= 0) return false;
        timeout = static_cast<int>(left > 3'600'000 ? 3'600'000 : left);
      }
      pollfd waited{fd_, events, 0};
      const int n = ::poll(&waited, 1, timeout);
      if (n > 0) return true;
      // The next call of recv or sendmsg reports the error.
      if (n < 0 && errno != EINTR) return true;
    }
  }

  int fd_;
  std::int64_t deadline_ms_ = 0;
};

}  // namespace muster::client
