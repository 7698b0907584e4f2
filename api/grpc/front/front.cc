// The list of relays and the bounds on all of them together: connections, open calls, cancelled
// calls per second. Everything runs on one Asio thread; the acceptor's thread only posts to it.
//
// When a bound is exceeded the front cuts a relay: for connections the one that has been quiet
// longest and has no open call, for open calls the one with the most. A relay that cancels too much
// is not cut but read more slowly (PauseMs), since the budget for all relays may be used up by
// others. A relay that is cut lingers for two seconds so that its client can read the reason; at
// most kLingering do so at once.
#include "api/grpc/front/front.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/grpc/front/relay.h"
#include "api/net/acceptor.h"
#include "api/net/peer_counts.h"
#include "schedd/telemetry/log.h"

namespace muster::api::front {
namespace {

namespace asio = boost::asio;

// The kernel memory that a slow reader may hold.
constexpr int kSendBufferBytes = 256 << 10;
constexpr std::int64_t kTickMs = 1000;
// Every user of the host may connect: the kernel tells who it is.
constexpr mode_t kSocketMode = 0666;
// Connections that were cut and stay open so that their clients can read the reason.
constexpr int kLingering = 64;
// Cut connections are logged at most this often, so that a flood of them does not flood the log.
constexpr std::int64_t kLogEveryMs = 1000;

}  // namespace

struct Front::Impl final : RelayHost, std::enable_shared_from_this<Impl> {
  Impl(SocketAdopter adopt_in, PeerRegistry& peers_in, FrontOptions options_in)
      : adopt(std::move(adopt_in)),
        peers(peers_in),
        options(std::move(options_in)),
        work(asio::make_work_guard(io)),
        ticker(io),
        acceptor([this](int fd) { OnAccepted(fd); },
                 [this] { asio::post(io, [this] { MakeRoom(); }); }),
        unix_acceptor([this](int fd) { OnAccepted(fd); },
                      [this] { asio::post(io, [this] { MakeRoom(); }); }) {}

  // RelayHost.
  asio::io_context& context() override { return io; }
  std::int64_t PauseMs(std::size_t resets) override {
    const std::int64_t now = NowMs();
    if (resets > 0) reset_budget.Take(static_cast<double>(resets), now);
    return reset_budget.DebtMs(now);
  }
  void OnStreams(std::ptrdiff_t more) override {
    streams += more;
    if (streams <= static_cast<std::ptrdiff_t>(options.max_streams)) return;
    const auto busiest = std::max_element(
        relays.begin(), relays.end(),
        [](const auto& a, const auto& b) { return a->open_streams() < b->open_streams(); });
    if (busiest != relays.end()) Cut(**busiest, "too many calls are open");
  }
  // One log line for all connections that were cut since the last line.
  void OnCut(const std::string& why) override {
    ++cut_since_log;
    if (NowMs() < next_log) return;
    next_log = NowMs() + kLogEveryMs;
    Log(LogLevel::kWarning, "grpc", "connection_cut",
        {{"reason", why}, {"connections", std::int64_t{cut_since_log}}});
    cut_since_log = 0;
  }
  void OnRefused(const std::string& why) override {
    if (NowMs() < next_refused_log) return;
    next_refused_log = NowMs() + kLogEveryMs;
    Log(LogLevel::kWarning, "grpc", "tls_refused", {{"msg", why}});
  }
  void OnSecured(Relay& relay, const net::TlsFilter& tls) override;
  void OnLeft(Relay* relay) override {
    securing.erase(relay);
    preparing.erase(relay);
    if (const auto found = numbers.find(relay); found != numbers.end()) {
      peers.Leave(found->second.number, found->second.peer, NowMs());
      numbers.erase(found);
    }
    if (const auto known = key_of.find(relay); known != key_of.end()) {
      held.Remove(known->second);
      key_of.erase(known);
    }
    std::erase_if(relays, [relay](const auto& one) { return one.get() == relay; });
  }
  bool BeginLinger() override {
    if (stopping || lingering >= kLingering) return false;
    ++lingering;
    return true;
  }
  void EndLinger() override { --lingering; }

  // On an acceptor's thread. The kernel is asked now: later the client may have gone.
  void OnAccepted(int fd) {
    auto peer = std::make_shared<const net::Peer>(net::PeerOf(fd));
    asio::post(io, [this, fd, peer = std::move(peer)] { OnSocket(fd, peer); });
  }
  void OnSocket(int fd, const net::PeerPtr& peer);
  void Prepare(const std::shared_ptr<Relay>& relay);
  void OnPrepared(const std::shared_ptr<Relay>& relay);
  bool Adopt(Relay& relay, int server_end, net::PeerPtr peer);
  void MakeRoom();
  bool MakeRoomOf(const std::string& key);
  // Holds the relay while it leaves the list, which has the only other pointer to it.
  static void Cut(Relay& relay, const char* why) {
    const auto held = relay.shared_from_this();
    held->Cut(why);
  }
  void Tick();

  const SocketAdopter adopt;
  PeerRegistry& peers;
  const FrontOptions options;
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work;
  asio::steady_timer ticker;
  std::vector<std::shared_ptr<Relay>> relays;
  // What gRPC knows a connection by, and whose it is: a pointer of its own for each connection.
  struct Listed {
    int number = -1;
    net::PeerPtr peer;
  };
  std::unordered_map<const Relay*, Listed> numbers;
  // gRPC's end of a connection, until gRPC gets it.
  struct ServerEnd {
    explicit ServerEnd(int descriptor) : fd(descriptor) {}
    ~ServerEnd() {
      if (fd >= 0) ::close(fd);
    }
    ServerEnd(const ServerEnd&) = delete;
    ServerEnd& operator=(const ServerEnd&) = delete;
    int fd;
  };
  struct Prepared {
    std::unique_ptr<ServerEnd> end;
    net::PeerPtr peer;
  };
  std::unordered_map<const Relay*, Prepared> preparing;     // those of which nothing is read yet
  std::unordered_map<const Relay*, net::PeerPtr> securing;  // whose TLS handshake goes on
  net::PeerCounts held{
      net::ConnectionsPerPeer(options.connections_per_peer, options.max_connections)};
  std::unordered_map<const Relay*, std::string> key_of;  // net::PeerKeyOf of each in `relays`
  TokenBucket reset_budget{limits::kAllResetBurst, limits::kAllResetsPerS};
  std::ptrdiff_t streams = 0;
  std::int64_t next_log = 0, next_refused_log = 0;
  int cut_since_log = 0;
  int lingering = 0;
  bool stopping = false;
  net::Acceptor acceptor, unix_acceptor;
  std::thread thread;
};

// A new connection. Refused if there is no place even after MakeRoom, or if its peer has as many as
// one peer may have, all of them with open calls.
void Front::Impl::OnSocket(int fd, const net::PeerPtr& peer) {
  const std::string key = net::PeerKeyOf(*peer);
  if (held.Full(key) && !MakeRoomOf(key)) {
    OnCut("one peer has too many connections");
    ::close(fd);
    return;
  }
  if (relays.size() >= options.max_connections) MakeRoom();
  int ends[2] = {-1, -1};
  if (stopping || relays.size() >= options.max_connections ||
      ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    ::close(fd);
    return;
  }
  const int one = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kSendBufferBytes, sizeof kSendBufferBytes);
  auto relay = std::make_shared<Relay>(*this, fd, ends[0]);
  relays.push_back(relay);
  held.Add(key);
  key_of.emplace(relay.get(), key);
  preparing[relay.get()] = {std::make_unique<ServerEnd>(ends[1]), peer};
  Prepare(relay);
}

// Who is known at once costs no turn of the thread.
void Front::Impl::Prepare(const std::shared_ptr<Relay>& relay) {
  if (!options.prepare) return OnPrepared(relay);
  const net::PeerPtr peer = preparing.at(relay.get()).peer;
  options.prepare(*peer, [weak = weak_from_this(), waits = std::weak_ptr(relay)] {
    const auto impl = weak.lock();
    if (impl == nullptr) return;
    asio::dispatch(impl->io, [impl = impl.get(), waits] {
      if (const auto ready = waits.lock()) impl->OnPrepared(ready);
    });
  });
}

void Front::Impl::OnPrepared(const std::shared_ptr<Relay>& relay) {
  auto known = preparing.extract(relay.get());
  if (known.empty()) return;  // it has left
  if (stopping) return relay->Close();
  const net::PeerPtr peer = std::move(known.mapped().peer);
  const int end = std::exchange(known.mapped().end->fd, -1);
  if (options.tls != nullptr && peer->kind != net::Peer::Kind::kUnix) {
    // gRPC gets its end once the handshake is over (OnSecured), and with it the peer's certificate.
    securing[relay.get()] = peer;
    relay->Secure(options.tls->Current(), end);
    return relay->Begin();
  }
  if (Adopt(*relay, end, peer)) relay->Begin();
}

// Lists the connection and gives gRPC its end. False: there is no number for it, and the relay is
// closed.
bool Front::Impl::Adopt(Relay& relay, int server_end, net::PeerPtr peer) {
  const int number = peers.Adopt(server_end, peer, NowMs());
  if (number < 0) return relay.Close(), false;
  numbers[&relay] = {number, std::move(peer)};
  adopt(number);
  return true;
}

// The client is known now; gRPC has not had a byte of it yet. It is listed only now, with its
// certificate: whether a number may be taken over depends on who takes it (peer_registry.cc).
void Front::Impl::OnSecured(Relay& relay, const net::TlsFilter& tls) {
  auto known = securing.extract(&relay);
  if (stopping || known.empty()) return relay.Close();
  auto peer = std::make_shared<net::Peer>(*known.mapped());
  peer->encrypted = true;
  peer->certificate = tls.certificate();
  Adopt(relay, relay.TakeServerEnd(), std::move(peer));
}

// Cuts the connection that has been quiet longest among those without an open call; if all have
// calls, the one that has been quiet longest.
void Front::Impl::MakeRoom() {
  const auto before = [](const auto& a, const auto& b) {
    const bool idle_a = a->open_streams() == 0, idle_b = b->open_streams() == 0;
    return idle_a != idle_b ? idle_a : a->heard_ms() < b->heard_ms();
  };
  const auto quiet = std::min_element(relays.begin(), relays.end(), before);
  if (quiet != relays.end()) Cut(**quiet, "others need the connection's place");
}

// Cuts the connection of this peer that has been quiet longest among those without an open call.
// False if all have calls.
bool Front::Impl::MakeRoomOf(const std::string& key) {
  Relay* quiet = nullptr;
  for (const auto& relay : relays) {
    if (relay->open_streams() > 0 || key_of.at(relay.get()) != key) continue;
    if (quiet == nullptr || relay->heard_ms() < quiet->heard_ms()) quiet = relay.get();
  }
  if (quiet != nullptr) Cut(*quiet, "its peer has opened too many connections");
  return quiet != nullptr;
}

void Front::Impl::Tick() {
  ticker.expires_after(std::chrono::milliseconds(kTickMs));
  ticker.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    for (const auto& relay : std::vector(relays))
      relay->OnTick(options.preface_ms, options.stall_ms);
    Tick();
  });
}

Front::Front(SocketAdopter adopt, PeerRegistry& peers, FrontOptions options)
    : impl_(std::make_shared<Impl>(std::move(adopt), peers, std::move(options))) {}
Front::~Front() { Stop(); }

Status Front::Start(const std::string& address, int port, const std::string& socket) {
  Status started = impl_->acceptor.Start(address, port);
  if (started.ok() && !socket.empty())
    started = impl_->unix_acceptor.StartUnix(socket, kSocketMode);
  if (!started.ok()) {
    impl_->acceptor.Stop();
    return started;
  }
  impl_->Tick();
  impl_->thread = std::thread([impl = impl_.get()] { impl->io.run(); });
  return started;
}

void Front::StopAccepting() {
  impl_->acceptor.Stop();
  impl_->unix_acceptor.Stop();
  asio::post(impl_->io, [impl = impl_.get()] { impl->stopping = true; });
}

void Front::Stop() {
  if (!impl_->thread.joinable()) return;
  impl_->acceptor.Stop();
  impl_->unix_acceptor.Stop();
  asio::post(impl_->io, [impl = impl_.get()] {
    impl->stopping = true;
    impl->ticker.cancel();
    for (const auto& relay : std::vector(impl->relays)) relay->Close();
    impl->io.stop();  // relays that still linger are destroyed with the io_context
  });
  impl_->thread.join();
}

int Front::port() const { return impl_->acceptor.port(); }

}  // namespace muster::api::front
