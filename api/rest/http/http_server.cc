// The list of connections, the bounds on their number, and start and stop.
//
// A connection takes two descriptors: Pistache's, which reads, and a duplicate, which writes. If
// connections or descriptors run out, LetIdleGo closes a sixteenth of all places at once, the
// longest idle first, so that a flood of connections pays for the search only now and then; if all
// are in use, the new client gets a 503 without being read. Reap runs once a second on the writer
// thread: its ticks are the clock of all connections, and it closes those that exceeded their time.
//
// One peer may hold a part of all places only (rule U76): at that bound LetIdleGo looks among its
// own connections, so that no other peer pays for it.
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
#include <csignal>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/net/listen_address.h"
#include "api/net/peer.h"
#include "api/net/peer_counts.h"
#include "schedd/base/limits.h"
#include "schedd/base/mutex.h"

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
// The same for a peer that has as many connections as one peer may have (rule U76).
constexpr std::string_view kPeerFull =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\n"
    "Retry-After: 1\r\nConnection: close\r\nContent-Length: 118\r\n\r\n"
    R"({"title":"Service Unavailable","status":503,)"
    R"("detail":"one peer has too many connections: limits.connections-per-peer"})";

// How many descriptors clients may take. Some are kept for the database, members and files; under a
// small limit that is a quarter of all.
int DescriptorsFor(int most) {
  const int limit = most > 0 ? most : net::DescriptorLimit();
  return limit - std::min(limits::kReservedDescriptors, limit / 4);
}

}  // namespace

// The open connections. A connection that closes removes itself through ConnectionHost::forget.
struct HttpServer::Registry {
  struct Entry {
    std::shared_ptr<Connection> connection;
    std::string peer;  // net::PeerKeyOf
  };
  explicit Registry(std::size_t most_of_peer) : peers(most_of_peer) {}
  Mutex mutex;
  CondVar idle;
  std::unordered_map<const Connection*, Entry> open MUSTER_GUARDED_BY(mutex);
  net::PeerCounts peers MUSTER_GUARDED_BY(mutex);
  // Of each peer in `peers`: its half-sent requests.
  std::unordered_map<std::string, std::shared_ptr<HeldBytes>> half_sent MUSTER_GUARDED_BY(mutex);

  // Null for a peer that is not bounded.
  std::shared_ptr<HeldBytes> HalfSentOf(const std::string& peer) MUSTER_REQUIRES(mutex) {
    if (peer.empty()) return nullptr;
    std::shared_ptr<HeldBytes>& held = half_sent[peer];
    if (held == nullptr) held = std::make_shared<HeldBytes>(0);
    return held;
  }
  void List(const std::shared_ptr<Connection>& connection, const std::string& peer)
      MUSTER_REQUIRES(mutex) {
    open.emplace(connection.get(), Entry{connection, peer});
    peers.Add(peer);
  }
  // The connection, for its last owner; null if it is not listed.
  std::shared_ptr<Connection> Unlist(const Connection* connection) MUSTER_REQUIRES(mutex) {
    const auto found = open.find(connection);
    if (found == open.end()) return nullptr;
    std::shared_ptr<Connection> last = std::move(found->second.connection);
    peers.Remove(found->second.peer);
    if (!peers.Has(found->second.peer)) half_sent.erase(found->second.peer);
    open.erase(found);
    return last;
  }

  // Those of one peer, or with "" all.
  std::vector<std::shared_ptr<Connection>> All(const std::string& peer = "") {
    const MutexLock lock(mutex);
    std::vector<std::shared_ptr<Connection>> all;
    all.reserve(open.size());
    for (const auto& [key, entry] : open) {
      if (peer.empty() || entry.peer == peer) all.push_back(entry.connection);
    }
    return all;
  }
};

HttpServer::HttpServer(RouteTable routes, Metrics& metrics, HttpOptions options)
    : options_(std::move(options)),
      descriptors_(DescriptorsFor(options_.max_descriptors)),
      host_(std::make_shared<ConnectionHost>(std::move(routes), metrics, options_.pool_threads)),
      registry_(std::make_shared<Registry>(net::ConnectionsPerPeer(
          options_.connections_per_peer,
          static_cast<std::size_t>(std::max(1, options_.max_connections))))),
      listener_([this](int fd) { return OnConnection(fd); }, [this] { LetIdleGo(); }) {
  host_->forget = [registry = registry_](const Connection* connection) {
    std::shared_ptr<Connection> last;  // destroyed after the lock is released
    const MutexLock lock(registry->mutex);
    last = registry->Unlist(connection);
  };
  host_->answered = [registry = registry_] {
    const MutexLock lock(registry->mutex);
    registry->idle.NotifyAll();
  };
}

HttpServer::~HttpServer() { Stop(); }

Status HttpServer::Start() {
  Status may = net::MayListen("REST", options_.host, options_.tls != nullptr);
  if (!may.ok()) return may;
  const auto address = net::ListenAddress(options_.host);
  if (!address.ok()) return address.error();
  if (options_.port < 0 || options_.port > 65535) {
    return InvalidArgument("the REST port " + std::to_string(options_.port) +
                           " is not between 0 and 65535");
  }
  std::signal(SIGPIPE, SIG_IGN);
  if (Status started = listener_.Start(*address, options_.port, options_.threads, options_.socket);
      !started.ok()) {
    return started;
  }
  Reap();
  return Done{};
}

bool HttpServer::Crowded() const {
  const MutexLock lock(registry_->mutex);
  return registry_->open.size() >= static_cast<std::size_t>(options_.max_connections);
}

bool HttpServer::IsFull(const std::string& peer) const {
  const MutexLock lock(registry_->mutex);
  return registry_->peers.Full(peer);
}

// A peer at its bound makes room among its own connections; others never pay for it.
std::shared_ptr<ByteSink> HttpServer::OnConnection(int fd) {
  if (host_->stopping) return nullptr;
  // The kernel is asked now: later the client may have gone.
  const auto peer = std::make_shared<const net::Peer>(net::PeerOf(fd));
  const std::string key = net::PeerKeyOf(*peer);
  // A client that speaks TLS could not read a refusal.
  const bool plain = options_.tls == nullptr || peer->kind == net::Peer::Kind::kUnix;
  if (IsFull(key) && LetIdleGo(key) == 0) {
    if (plain) (void)!::send(fd, kPeerFull.data(), kPeerFull.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return nullptr;
  }
  // The kernel gives out the lowest free descriptor, so a high number means that few are left.
  const bool scarce = fd >= descriptors_;
  const bool room = (!Crowded() && !scarce) || LetIdleGo() > 0;
  const int own = room ? ::fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
  if (own < 0) {
    if (plain) (void)!::send(fd, kFull.data(), kFull.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return nullptr;
  }
  const int one = 1;
  ::setsockopt(own, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  ::setsockopt(own, SOL_SOCKET, SO_SNDBUF, &kSendBufferBytes, sizeof kSendBufferBytes);
  const MutexLock lock(registry_->mutex);
  auto connection = std::make_shared<Connection>(own, host_, peer, registry_->HalfSentOf(key));
  if (options_.tls != nullptr) connection->Secure(options_.tls->Current());
  registry_->List(connection, key);
  return connection;
}

// Closes many at once: under a flood of connections one search makes room for all of them.
std::size_t HttpServer::LetIdleGo(const std::string& peer) {
  std::vector<std::pair<std::uint64_t, std::shared_ptr<Connection>>> idle;
  for (auto& connection : registry_->All(peer)) {
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
    // On the pool, since it reads files. gRPC has the same source.
    if (options_.tls != nullptr && tick % limits::kTlsRefreshS == 0)
      host_->workers.Post([tls = options_.tls] { tls->Refresh(); });
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
    const MutexLock lock(registry_->mutex);
    registry_->idle.WaitFor(registry_->mutex, kStopGrace, [this] { return host_->active <= 0; });
  }
  for (const auto& connection : registry_->All()) connection->Close();
  host_->workers.Stop();
}

}  // namespace muster::rest
