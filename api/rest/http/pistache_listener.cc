#include "api/rest/http/pistache_listener.h"

#include <pistache/listener.h>
#include <pistache/net.h>
#include <pistache/peer.h>
#include <pistache/tcp.h>
#include <pistache/transport.h>
#include <sys/socket.h>

#include <exception>
#include <utility>

namespace muster::rest {
namespace {

constexpr char kSinkData[] = "sink";

std::shared_ptr<ByteSink> SinkOf(const std::shared_ptr<Pistache::Tcp::Peer>& peer) {
  return std::static_pointer_cast<ByteSink>(peer->tryGetData(kSinkData));
}

/// Hands each peer's bytes to its sink. Pistache clones one per worker. Exceptions must not reach
/// Pistache's loop, which would end the process.
class BytesHandler final : public Pistache::Tcp::Handler {
 public:
  explicit BytesHandler(const ConnectionFactory* on_connection) : on_connection_(on_connection) {}

  std::shared_ptr<Pistache::Tcp::Handler> clone() const override {
    return std::make_shared<BytesHandler>(on_connection_);
  }

  void onConnection(const std::shared_ptr<Pistache::Tcp::Peer>& peer) override {
    try {
      if (auto sink = (*on_connection_)(peer->fd())) {
        peer->putData(kSinkData, std::move(sink));
        return;
      }
    } catch (...) {  // out of memory or descriptors: this one connection is refused below
    }
    ::shutdown(peer->fd(), SHUT_RDWR);
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

 private:
  const ConnectionFactory* on_connection_;
};

}  // namespace

struct PistacheListener::Impl {
  Pistache::Tcp::Listener listener;
};

PistacheListener::PistacheListener(ConnectionFactory on_connection)
    : on_connection_(std::move(on_connection)) {}
PistacheListener::~PistacheListener() { Stop(); }

Status PistacheListener::Start(const std::string& host, int port, int threads) {
  const std::string where = host + ":" + std::to_string(port);
  try {
    impl_ = std::make_unique<Impl>();
    Pistache::Flags<Pistache::Tcp::Options> options(Pistache::Tcp::Options::ReuseAddr);
    options.setFlag(Pistache::Tcp::Options::CloseOnExec);
    impl_->listener.init(static_cast<std::size_t>(threads), options, "rest");
    impl_->listener.setHandler(std::make_shared<BytesHandler>(&on_connection_));
    impl_->listener.bind(Pistache::Address(host, Pistache::Port(static_cast<std::uint16_t>(port))));
    port_ = static_cast<std::uint16_t>(impl_->listener.getPort());
    impl_->listener.runThreaded();
  } catch (const std::exception& error) {
    impl_.reset();
    return Unavailable("REST cannot listen on " + where + ": " + error.what());
  }
  return Done{};
}

void PistacheListener::Stop() {
  if (!impl_) return;
  impl_->listener.shutdown();
  impl_.reset();
}

}  // namespace muster::rest
