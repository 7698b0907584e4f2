// Uses Pistache's reactor with one Transport per thread. A new socket is made a Peer with its sink
// and given to the transport of thread `fd modulo threads`; from then on BytesHandler gets its
// bytes and its end. Pistache's HTTP parser and response writer are never used.
#include "api/rest/http/pistache_listener.h"

#include <netinet/in.h>
#include <pistache/net.h>
#include <pistache/peer.h>
#include <pistache/reactor.h>
#include <pistache/tcp.h>
#include <pistache/transport.h>
#include <sys/socket.h>
#include <unistd.h>

#include <exception>
#include <utility>
#include <vector>

namespace muster::rest {
namespace {

// The key under which a peer carries its sink.
constexpr char kSinkData[] = "sink";
// Every user of the host may connect: the kernel tells who it is.
constexpr mode_t kSocketMode = 0666;

std::shared_ptr<ByteSink> SinkOf(const std::shared_ptr<Pistache::Tcp::Peer>& peer) {
  return std::static_pointer_cast<ByteSink>(peer->tryGetData(kSinkData));
}

// Hands each peer's bytes to its sink. Pistache clones one handler per thread. No exception may
// reach Pistache's loop, which would end the process.
class BytesHandler final : public Pistache::Tcp::Handler {
 public:
  std::shared_ptr<Pistache::Tcp::Handler> clone() const override {
    return std::make_shared<BytesHandler>();
  }

  void onInput(const char* buffer, std::size_t length,
               const std::shared_ptr<Pistache::Tcp::Peer>& peer) override {
    try {
      if (const auto sink = SinkOf(peer)) sink->OnBytes({buffer, length});
    } catch (...) {
      ::shutdown(peer->fd(), SHUT_RDWR);
    }
  }

  void onDisconnection(const std::shared_ptr<Pistache::Tcp::Peer>& peer) override {
    try {
      if (const auto sink = SinkOf(peer)) sink->OnEnd();
    } catch (...) {  // the peer is gone either way
    }
  }
};

// Pistache wants an address for each peer; nothing reads it.
Pistache::Address SomeAddress() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return Pistache::Address::fromUnix(reinterpret_cast<sockaddr*>(&address));
}

}  // namespace

struct PistacheListener::Impl {
  std::shared_ptr<Pistache::Aio::Reactor> reactor = Pistache::Aio::Reactor::create();
  std::vector<std::shared_ptr<Pistache::Aio::Handler>> transports;  // one per thread
};

PistacheListener::PistacheListener(ConnectionFactory on_connection,
                                   net::Acceptor::FullCallback on_full)
    : on_connection_(std::move(on_connection)),
      acceptor_([this](int fd) { OnSocket(fd); }, on_full),
      unix_acceptor_([this](int fd) { OnSocket(fd); }, on_full) {}
PistacheListener::~PistacheListener() { Stop(); }

Status PistacheListener::Start(const std::string& host, int port, int threads,
                               const std::string& socket) {
  try {
    impl_ = std::make_unique<Impl>();
    impl_->reactor->init(Pistache::Aio::AsyncContext(static_cast<std::size_t>(threads), "rest"));
    const auto key = impl_->reactor->addHandler(
        std::make_shared<Pistache::Tcp::Transport>(std::make_shared<BytesHandler>()));
    impl_->transports = impl_->reactor->handlers(key);
    impl_->reactor->run();
  } catch (const std::exception& error) {
    impl_.reset();
    return Unavailable(std::string("REST cannot start its threads: ") + error.what());
  }
  // Accepting starts last: every accepted socket has a thread to go to.
  Status started = acceptor_.Start(host, port);
  if (started.ok() && !socket.empty()) started = unix_acceptor_.StartUnix(socket, kSocketMode);
  if (started.ok()) return started;
  Stop();
  Error error = started.error();
  error.detail = "REST " + error.detail;
  return error;
}

void PistacheListener::OnSocket(int fd) {
  try {
    if (auto sink = on_connection_(fd)) {
      // From here on the peer owns the descriptor.
      const auto peer = Pistache::Tcp::Peer::Create(fd, SomeAddress());
      peer->putData(kSinkData, std::move(sink));
      const MutexLock lock(handing_over_);
      const auto turn = static_cast<std::size_t>(fd) % impl_->transports.size();
      std::static_pointer_cast<Pistache::Tcp::Transport>(impl_->transports[turn])
          ->handleNewPeer(peer);
      return;
    }
  } catch (...) {  // out of memory: this one connection is refused below
  }
  ::close(fd);
}

void PistacheListener::Stop() {
  acceptor_.Stop();
  unix_acceptor_.Stop();
  if (!impl_) return;
  impl_->reactor->shutdown();
  impl_.reset();
}

}  // namespace muster::rest
