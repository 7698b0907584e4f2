// The list of connections, the bounds on their number, and start and stop.
//
// A connection takes two descriptors: Pistache's, which reads, and a duplicate, which writes. If
// connections or descriptors run out, LetIdleGo closes a sixteenth of all places at once, the
// longest idle first, so that a flood of connections pays for the search only now and then; if all
// are in use, the new client gets a 503 without being read. Reap runs once a second on the writer
// thread: its ticks are the clock of all connections, and it closes those that exceeded their time.
//
// Stop order: no new connections, idle ones and streams end, answers in flight get kStopGrace, then
// everything is closed and the threads are joined.
#include "api/rest/http/http_server.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schedd/base/limits.h"

namespace muster::rest {
namespace {

constexpr auto kStopGrace = std::chrono::seconds(5);
// The kernel memory that a slow reader may hold.
constexpr int kSendBufferBytes = 256 << 10;

// The answer to a client for which there is no place; its request is not read.
constexpr std::string_view kFull =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\n"
    "Retry-After: 1\r\nConnection: close\r\nContent-Length: 76\r\n\r\n"
    R"({"title":"Service Unavailable","status":503,"detail":"too many connections"})";

// How many descriptors clients may take. Some are kept for the database, members and files; under a
// small limit that is a quarter of all.
int DescriptorsFor(int most) {
  const int limit = most > 0 ? most : net::DescriptorLimit();
  return limit - std::min(limits::kReservedDescriptors, limit / 4);
}

}  // namespace

// The open connections. A connection that closes removes itself through ConnectionHost::forget.
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
      descriptors_(DescriptorsFor(options_.max_descriptors)),
      host_(std::make_shared<ConnectionHost>(std::move(routes), metrics, options_.pool_threads)),
      registry_(std::make_shared<Registry>()),
      listener_([this](int fd) { return OnConnection(fd); }, [this] { LetIdleGo(); }) {
  host_->forget = [registry = registry_](const Connection* connection) {
    std::shared_ptr<Connection> last;  // destroyed after the lock is released
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
  const std::string address = net::LoopbackAddress(options_.host);
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

bool HttpServer::Crowded() const {
  const std::lock_guard lock(registry_->mutex);
  return registry_->open.size() >= static_cast<std::size_t>(options_.max_connections);
}

std::shared_ptr<ByteSink> HttpServer::OnConnection(int fd) {
  if (host_->stopping) return nullptr;
  // The kernel gives out the lowest free descriptor, so a high number means that few are left.
  const bool scarce = fd >= descriptors_;
  const bool room = (!Crowded() && !scarce) || LetIdleGo() > 0;
  const int own = room ? ::fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
  if (own < 0) {
    (void)!::send(fd, kFull.data(), kFull.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return nullptr;
  }
  const int one = 1;
  ::setsockopt(own, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  ::setsockopt(own, SOL_SOCKET, SO_SNDBUF, &kSendBufferBytes, sizeof kSendBufferBytes);
  auto connection = std::make_shared<Connection>(own, host_);
  const std::lock_guard lock(registry_->mutex);
  registry_->open.emplace(connection.get(), connection);
  return connection;
}

// Closes many at once: under a flood of connections one search makes room for all of them.
std::size_t HttpServer::LetIdleGo() {
  std::vector<std::pair<std::uint64_t, std::shared_ptr<Connection>>> idle;
  for (auto& connection : registry_->All()) {
    if (const auto turn = connection->Dispensable()) idle.emplace_back(*turn, connection);
  }
  const std::size_t share = static_cast<std::size_t>(std::max(1, options_.max_connections / 16));
  const std::size_t count = std::min(idle.size(), share);
  const auto end = idle.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(idle.begin(), end, idle.end(),
                    [](const auto& a, const auto& b) { return a.first < b.first; });
  std::for_each(idle.begin(), end, [](const auto& one) { one.second->MakeRoom(); });
  return count;
}

// Runs once a second; its ticks are the connections' clock. While more than three quarters of the
// places are taken, idle connections are closed sooner.
void HttpServer::Reap() {
  host_->workers.After(1000, [this] {
    const std::int64_t tick = ++host_->tick;
    const auto all = registry_->All();
    const bool pressed = all.size() * 4 > static_cast<std::size_t>(options_.max_connections) * 3;
    const std::int64_t idle = pressed ? limits::kIdleUnderPressureS : Connection::kIdleTicks;
    for (const auto& connection : all) connection->Reap(tick, idle);
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
