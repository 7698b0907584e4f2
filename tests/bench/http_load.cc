#include "tests/bench/http_load.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>

#include "tests/bench/http_client.h"

namespace muster::bench {
namespace {

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Seconds without any answer after which the rest is given up.
constexpr double kPatience = 10;

struct Connection {
  int fd = -1;
  std::unique_ptr<TlsStream> tls;  // null: plain
  std::string name, in;
  // When the request was sent, or due.
  double begun = 0;
};

class Load {
 public:
  explicit Load(const LoadOptions& options)
      : options_(options), connections_(static_cast<std::size_t>(options.connections)) {}

  LoadResult Run() {
    epoll_ = epoll_create1(0);
    for (auto& connection : connections_) Open(&connection);
    begun_ = Now();
    for (auto& connection : connections_) {
      if (connection.fd < 0) continue;
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.ptr = &connection;
      epoll_ctl(epoll_, EPOLL_CTL_ADD, connection.fd, &event);
      ++open_;
      Next(&connection);
    }
    epoll_event events[64];
    while (open_ > 0) {
      const double pause = SendDue();
      if (open_ == 0) break;
      timespec wait{};
      wait.tv_sec = static_cast<time_t>(pause);
      wait.tv_nsec = static_cast<long>((pause - static_cast<double>(wait.tv_sec)) * 1e9);
      const int n = epoll_pwait2(epoll_, events, 64, &wait, nullptr);
      if (n < 0 || (n == 0 && pause == kPatience)) break;
      for (int i = 0; i < n; ++i) Receive(static_cast<Connection*>(events[i].data.ptr));
    }
    close(epoll_);
    for (auto& connection : connections_) {
      if (connection.fd >= 0) close(connection.fd);
    }
    result_.seconds = Now() - begun_;
    return std::move(result_);
  }

 private:
  void Open(Connection* connection) {
    connection->fd = Dial(options_.port);
    if (connection->fd < 0 || options_.tls == nullptr) return;
    connection->tls = options_.tls->Connect(connection->fd);
    if (connection->tls != nullptr) return;
    close(connection->fd);
    connection->fd = -1;
  }

  void Drop(Connection* connection) {
    close(connection->fd);
    connection->fd = -1;
    --open_;
  }

  bool Spent() const {
    return options_.requests > 0 ? next_ >= options_.requests : Now() - begun_ >= options_.seconds;
  }

  double Due() const { return begun_ + static_cast<double>(next_) / options_.rate; }

  void Next(Connection* connection) {
    if (options_.rate > 0) return idle_.push_back(connection);
    SendNext(connection, Now());
  }

  // Sends what is due at the rate; seconds to wait for events.
  double SendDue() {
    while (options_.rate > 0 && !idle_.empty()) {
      const double due = Due();
      if (const double now = Now(); now < due && !Spent()) return due - now;
      Connection* connection = idle_.back();
      idle_.pop_back();
      SendNext(connection, due);
    }
    return kPatience;
  }

  void SendNext(Connection* connection, double begun) {
    if (Spent()) return Drop(connection);
    std::string path, body;
    const auto& tokens = options_.bearer_tokens;
    const std::string credential =
        tokens.empty() ? "" : "Authorization: Bearer " + tokens[next_ % tokens.size()] + "\r\n";
    options_.make(next_++, &connection->name, &path, &body);
    const std::string request =
        options_.method + " " + path +
        " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + credential +
        "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    connection->begun = begun;
    if (connection->tls != nullptr) {
      if (!connection->tls->Send(request)) Drop(connection);
      return;
    }
    std::size_t sent = 0;
    while (sent < request.size()) {
      const auto n =
          send(connection->fd, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) return Drop(connection);
      sent += static_cast<std::size_t>(n);
    }
  }

  static bool ReceiveOnce(Connection* connection) {
    if (connection->tls != nullptr) return connection->tls->Receive(&connection->in);
    char buffer[65536];
    const auto n = recv(connection->fd, buffer, sizeof buffer, 0);
    if (n <= 0) return false;
    connection->in.append(buffer, static_cast<std::size_t>(n));
    return true;
  }

  void Receive(Connection* connection) {
    if (!ReceiveOnce(connection)) return Drop(connection);
    const auto size = AnswerSize(connection->in);
    if (size == 0) return;
    if (connection->in.size() > 9 && connection->in[9] == '2') {
      ++result_.answered;
      result_.latencies.push_back(Now() - connection->begun);
      if (options_.remember) result_.acknowledged.push_back(connection->name);
    } else {
      if (result_.refused++ == 0) result_.first_refusal = connection->in.substr(0, 600);
    }
    connection->in.erase(0, size);
    Next(connection);
  }

  const LoadOptions& options_;
  std::vector<Connection> connections_;
  std::vector<Connection*> idle_;  // with a rate: those without a request on the way
  LoadResult result_;
  std::size_t next_ = 0;
  int epoll_ = -1, open_ = 0;
  double begun_ = 0;
};

}  // namespace

LoadResult RunLoad(const LoadOptions& options) { return Load(options).Run(); }

}  // namespace muster::bench
