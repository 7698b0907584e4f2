#include "tests/unit/clients/fake_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace muster::testing {
namespace {

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return text;
}

// Reads one request from `*pending` and the socket; false at the end of the connection.
bool ReadRequest(int fd, std::string* pending, FakeRequest* out) {
  char part[65536];
  std::size_t head = 0;
  while ((head = pending->find("\r\n\r\n")) == std::string::npos) {
    const ssize_t n = ::recv(fd, part, sizeof(part), 0);
    if (n <= 0) return false;
    pending->append(part, static_cast<std::size_t>(n));
  }
  const std::string text = pending->substr(0, head);
  pending->erase(0, head + 4);
  const std::size_t space = text.find(' ');
  out->method = text.substr(0, space);
  out->target = text.substr(space + 1, text.find(' ', space + 1) - space - 1);
  for (std::size_t at = text.find("\r\n"); at != std::string::npos;) {
    const std::size_t end = text.find("\r\n", at + 2);
    const std::string line = text.substr(at + 2, end == std::string::npos ? end : end - at - 2);
    const std::size_t colon = line.find(": ");
    out->headers.emplace_back(Lower(line.substr(0, colon)), line.substr(colon + 2));
    at = end;
  }
  const std::string length = out->Header("content-length");
  const std::size_t body = length.empty() ? 0 : std::stoul(length);
  while (pending->size() < body) {
    const ssize_t n = ::recv(fd, part, sizeof(part), 0);
    if (n <= 0) return false;
    pending->append(part, static_cast<std::size_t>(n));
  }
  out->body = pending->substr(0, body);
  pending->erase(0, body);
  return true;
}

void SendAll(int fd, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t n = ::send(fd, text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (n <= 0) return;
    at += static_cast<std::size_t>(n);
  }
}

std::string Hex(std::size_t number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%zx", number);
  return text;
}

// A socket bound to a free loopback port, which is stored in `*port`.
int BoundSocket(int* port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0) std::abort();
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  *port = ntohs(address.sin_port);
  return fd;
}

}  // namespace

std::string FakeRequest::Header(const std::string& name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return "";
}

ClosedPort::ClosedPort() : fd_(BoundSocket(&port_)) {}

ClosedPort::~ClosedPort() { ::close(fd_); }

SilentPort::SilentPort() : fd_(BoundSocket(&port_)) {
  if (::listen(fd_, 64) != 0) std::abort();
}

SilentPort::~SilentPort() { ::close(fd_); }

FakeServer::FakeServer(Handler handler) : handler_(std::move(handler)) {
  listener_ = BoundSocket(&port_);
  if (::listen(listener_, 64) != 0) std::abort();
  acceptor_ = std::thread([this] { AcceptLoop(); });
}

FakeServer::~FakeServer() {
  stopping_ = true;
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  {
    const std::lock_guard lock(mutex_);
    for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
  }
  for (std::thread& thread : connections_) thread.join();
  ::close(listener_);
}

std::vector<FakeRequest> FakeServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void FakeServer::AcceptLoop() {
  while (!stopping_) {
    const int fd = ::accept(listener_, nullptr, nullptr);
    if (fd < 0) return;
    const std::lock_guard lock(mutex_);
    open_.push_back(fd);
    connections_.emplace_back([this, fd] { Serve(fd); });
  }
}

void FakeServer::Serve(int fd) {
  std::string pending;
  for (FakeRequest request; ReadRequest(fd, &pending, &request); request = {}) {
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    const FakeAnswer answer = handler_(request);
    if (answer.drop) break;
    std::string head = "HTTP/1.1 " + std::to_string(answer.status) +
                       " X\r\nContent-Type: " + answer.content_type + "\r\n" + answer.extra_headers;
    if (answer.stream) {
      SendAll(
          fd,
          head + "Transfer-Encoding: chunked\r\n\r\n" +
              (answer.body.empty() ? "" : Hex(answer.body.size()) + "\r\n" + answer.body + "\r\n"));
      if (answer.close) break;
      char ignored = 0;
      while (::recv(fd, &ignored, 1, 0) > 0) {
      }
      break;
    }
    SendAll(fd, head + "Content-Length: " + std::to_string(answer.body.size()) + "\r\n\r\n" +
                    answer.body);
    if (answer.close) break;
  }
  const std::lock_guard lock(mutex_);
  open_.erase(std::remove(open_.begin(), open_.end(), fd), open_.end());
  ::close(fd);
}

FakeAnswer Problem(int status, const std::string& detail, const std::string& field) {
  FakeAnswer out;
  out.status = status;
  out.content_type = "application/problem+json";
  out.body = "{\"type\":\"about:blank\",\"title\":\"T\",\"status\":" + std::to_string(status) +
             ",\"detail\":\"" + detail + "\",\"errors\":[" +
             (field.empty() ? "" : "{\"field\":\"" + field + "\",\"message\":\"" + detail + "\"}") +
             "]}";
  return out;
}

ScopedEnv::ScopedEnv(const char* name, const std::string& value) : name_(name) {
  const char* old = std::getenv(name);
  had_ = old != nullptr;
  if (had_) old_ = old;
  if (value.empty())
    ::unsetenv(name);
  else
    ::setenv(name, value.c_str(), 1);
}

ScopedEnv::~ScopedEnv() {
  if (had_)
    ::setenv(name_.c_str(), old_.c_str(), 1);
  else
    ::unsetenv(name_.c_str());
}

CommandResult Capture(const std::function<int()>& run) {
  CommandResult out;
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  out.exit = run();
  std::fflush(stdout);
  out.err = ::testing::internal::GetCapturedStderr();
  out.out = ::testing::internal::GetCapturedStdout();
  return out;
}

}  // namespace muster::testing
