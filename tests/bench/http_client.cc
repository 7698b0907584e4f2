#include "tests/bench/http_client.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace muster::bench {

int Dial(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

std::size_t AnswerSize(const std::string& in) {
  const auto end = in.find("\r\n\r\n");
  if (end == std::string::npos) return 0;
  std::size_t length = 0;
  for (std::size_t at = in.find("\r\n"); at < end; at = in.find("\r\n", at + 2)) {
    if (strncasecmp(in.c_str() + at + 2, "content-length:", 15) == 0)
      length = std::strtoul(in.c_str() + at + 17, nullptr, 10);
  }
  return in.size() >= end + 4 + length ? end + 4 + length : 0;
}

HttpClient::~HttpClient() { Close(); }

void HttpClient::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

Result<std::string> HttpClient::Call(const std::string& method, const std::string& path,
                                     const std::string& body) {
  if (fd_ < 0) fd_ = Dial(port_);
  if (fd_ < 0) return Unavailable("no connection");
  const std::string request =
      method + " " + path +
      " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body;
  for (std::size_t sent = 0; sent < request.size();) {
    const auto n = send(fd_, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) {
      Close();
      return Unavailable("the connection broke");
    }
    sent += static_cast<std::size_t>(n);
  }
  std::string answer;
  char buffer[65536];
  while (AnswerSize(answer) == 0) {
    const auto n = recv(fd_, buffer, sizeof buffer, 0);
    if (n <= 0) {
      Close();
      return Unavailable("no answer");
    }
    answer.append(buffer, static_cast<std::size_t>(n));
  }
  const std::string content = answer.substr(answer.find("\r\n\r\n") + 4);
  if (answer[9] != '2') return Internal(answer.substr(9, 3) + " " + content.substr(0, 600));
  return content;
}

}  // namespace muster::bench
