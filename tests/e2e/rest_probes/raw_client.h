// RawClient: bytes to and from a loopback port, with a deadline on every read, so that a probe can
// send what no HTTP library would. Test support only.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace muster::rest_probes {

struct Answer {
  int status = 0;  // 0: none came
  std::string head, body;
};

class RawClient {
 public:
  explicit RawClient(int port, int receive_buffer = 0)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer > 0)
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~RawClient() { Close(); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return connected_; }
  void Close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  /// Closes with a reset instead of a farewell.
  void Reset() {
    const linger hard{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    Close();
  }
  void HalfClose() { ::shutdown(fd_, SHUT_WR); }

  /// False once the server has closed on us.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  /// Reads some bytes into the buffer; false at the end or after `wait_ms`.
  bool Fill(int wait_ms = 60'000) {
    pollfd waiting{fd_, POLLIN, 0};
    if (::poll(&waiting, 1, wait_ms) <= 0) return false;
    char bytes[65536];
    const ssize_t got = ::recv(fd_, bytes, sizeof bytes, 0);
    if (got <= 0) {
      ended_ = true;
      return false;
    }
    buffer_.append(bytes, static_cast<std::size_t>(got));
    return true;
  }

  /// Reads until `text` is in the buffer; true if it came, each part within `wait_ms`.
  bool ReadUntil(std::string_view text, int wait_ms = 60'000) {
    while (buffer_.find(text) == std::string::npos) {
      if (!Fill(wait_ms)) return false;
    }
    return true;
  }

  /// The next answer with Content-Length or chunked framing (100 Continue included); status 0 if
  /// none came.
  Answer Read(bool head_only = false) {
    Answer answer;
    if (!ReadUntil("\r\n\r\n")) return answer;
    const std::size_t end = buffer_.find("\r\n\r\n") + 4;
    answer.head = buffer_.substr(0, end);
    buffer_.erase(0, end);
    answer.status = std::atoi(answer.head.c_str() + 9);
    if (head_only || answer.status == 100) return answer;
    if (answer.head.find("Transfer-Encoding: chunked") != std::string::npos) {
      if (!ReadChunks(&answer.body)) answer.status = -1;
      return answer;
    }
    const std::size_t field = answer.head.find("Content-Length: ");
    if (field == std::string::npos) {
      while (Fill()) {
      }
      answer.body.swap(buffer_);
      return answer;
    }
    const std::size_t length = std::strtoul(answer.head.c_str() + field + 16, nullptr, 10);
    while (buffer_.size() < length) {
      if (!Fill()) {
        answer.status = -1;
        return answer;
      }
    }
    answer.body = buffer_.substr(0, length);
    buffer_.erase(0, length);
    return answer;
  }

  /// True if the server closes within the deadline and has sent nothing more.
  bool ClosedCleanly() {
    while (Fill()) {
    }
    return ended_ && buffer_.empty();
  }
  /// True if the server closes, whatever it still sends.
  bool Closed() {
    while (Fill()) {
    }
    return ended_;
  }
  std::string& buffer() { return buffer_; }

 private:
  bool ReadChunks(std::string* body) {
    for (;;) {
      if (!ReadUntil("\r\n")) return false;
      const std::size_t line = buffer_.find("\r\n");
      const std::size_t size = std::strtoul(buffer_.c_str(), nullptr, 16);
      while (buffer_.size() < line + 2 + size + 2) {
        if (!Fill()) return false;
      }
      body->append(buffer_, line + 2, size);
      buffer_.erase(0, line + 2 + size + 2);
      if (size == 0) return true;
    }
  }

  int fd_;
  bool connected_ = false, ended_ = false;
  std::string buffer_;
};

}  // namespace muster::rest_probes
