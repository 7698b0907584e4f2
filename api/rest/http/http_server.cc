#include "api/rest/http/http_server.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/rest/http/guard.h"

namespace muster::rest {
namespace {

constexpr auto kStopGrace = std::chrono::seconds(5);
constexpr int kSendBufferBytes = 256 << 10;  // what a slow reader may hold of the kernel's memory

/// Loopback only until authentication exists; the address to bind, or "".
std::string LoopbackAddress(const std::string& host) {
  if (host == "localhost") return "127.0.0.1";
  if (host == "::1") return host;
  return host.starts_with("127.") && IsLocalAuthority(host) ? host : "";
}

}  // namespace

/// Open connections; closed ones unlist themselves.
struct HttpServer::Registry {
  std::mutex mutex;
  std::condition_variable idle;
  std::unordered_map<const Connection*, std::shared_ptr<Connection>> open;

  std::vector<std::shared_ptr<Connection>> All() {
    const std::lock_guard lock(mutex);
    std::vector<std::shared_ptr<Connection>> all;
    all.reserve(open.size());
    for (const auto& [key, connection] : open) all.push_back(connection);
    return all;
  }
};

HttpServer::HttpServer(RouteTable routes, Metrics& metrics, HttpOptions options)
    : options_(std::move(options)),
      host_(std::make_shared<ConnectionHost>(std::move(routes), metrics, options_.pool_threads)),
      registry_(std::make_shared<Registry>()),
      listener_([this](int fd) { return OnConnection(fd); }) {
  host_->forget = [registry = registry_](const Connection* connection) {
    std::shared_ptr<Connection> last;  // destroyed after the lock
    const std::lock_guard lock(registry->mutex);
    const auto found = registry->open.find(connection);
    if (found == registry->open.end()) return;
    last = std::move(found->second);
    registry->open.erase(found);
  };
  host_->answered = [registry = registry_] {
    const std::lock_guard lock(registry->mutex);
    registry->idle.notify_all();
  };
}

HttpServer::~HttpServer() { Stop(); }

Status HttpServer::Start() {
  const std::string address = LoopbackAddress(options_.host);
  if (address.empty()) {
    return Error{Code::kFailedPrecondition,
                 "REST listens on loopback addresses only until authentication is set up: \"" +
                     options_.host + "\" is not one of 127.0.0.0/8, ::1 or localhost"};
  }
  if (options_.port < 0 || options_.port > 65535) {
    return InvalidArgument("the REST port " + std::to_string(options_.port) +
                           " is not between 0 and 65535");
  }
  std::signal(SIGPIPE, SIG_IGN);
  if (Status started = listener_.Start(address, options_.port, options_.threads); !started.ok())
    return started;
  Reap();
  return Done{};
}

std::shared_ptr<ByteSink> HttpServer::OnConnection(int fd) {
  if (host_->stopping) return nullptr;
  const std::lock_guard lock(registry_->mutex);
  if (registry_->open.size() >= static_cast<std::size_t>(options_.max_connections)) return nullptr;
  const int own = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return nullptr;
  const int one = 1;
  ::setsockopt(own, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  ::setsockopt(own, SOL_SOCKET, SO_SNDBUF, &kSendBufferBytes, sizeof kSendBufferBytes);
  auto connection = std::make_shared<Connection>(own, host_);
  registry_->open.emplace(connection.get(), connection);
  return connection;
}

/// Once a second; time is counted in these ticks.
void HttpServer::Reap() {
  host_->workers.After(1000, [this] {
    const std::int64_t tick = ++host_->tick;
    for (const auto& connection : registry_->All()) connection->Reap(tick);
    Reap();
  });
}

void HttpServer::Stop() {
  if (stopped_) return;
  stopped_ = true;
  host_->stopping = true;
  listener_.Stop();
  for (const auto& connection : registry_->All()) connection->Wind();
  {
    std::unique_lock lock(registry_->mutex);
    registry_->idle.wait_for(lock, kStopGrace, [this] { return host_->active <= 0; });
  }
  for (const auto& connection : registry_->All()) connection->Close();
  host_->workers.Stop();
}

}  // namespace muster::rest
