// Connection: connect, handshake, write and read by Asio. Every handler checks closed_, because
// Close may come while it is queued.
//
// The socket asks `may` before each send, so that a large request is cut off when the lead ends; a
// request that is not complete is not carried out.
#include "backends/k8s/client/connection.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/write.hpp>

#include "schedd/credentials/tls_material.h"

namespace muster::k8s {
namespace {

namespace asio = boost::asio;

// Keep-alive probes find a lost peer after 30 s, also on a stream that may be silent for ever.
void SetUpSocket(int fd) {
  const int on = 1, idle_s = 15, every_s = 5, count = 3;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof(every_s));
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

}  // namespace

Connection::Connection(const Strand& strand, std::shared_ptr<TlsContext> tls,
                       std::uint64_t generation)
    : socket_(strand), tls_context_(std::move(tls)), generation_(generation) {
  if (tls_context_ != nullptr) tls_.emplace(socket_, *tls_context_);
}

void Connection::Open(std::vector<Endpoint> endpoints, PeerIdentity peer,
                      std::function<void(const Status&)> done) {
  endpoints_ = std::move(endpoints);
  asio::async_connect(socket_.tcp(), endpoints_,
                      [self = shared_from_this(), peer = std::move(peer), done = std::move(done)](
                          ErrorCode error, const Endpoint&) {
    if (self->closed_) return;
    const std::string failed = "cannot connect to " + peer.address + ": ";
    if (error) return done(Unavailable(failed + error.message()));
    // On loopback, where no server listens, a socket may connect to itself (simultaneous open)
    // and would then occupy the server's port.
    ErrorCode ignored;
    PermittedSocket::Tcp& tcp = self->socket_.tcp();
    if (tcp.local_endpoint(ignored) == tcp.remote_endpoint(ignored)) {
      tcp.close(ignored);
      return done(Unavailable(failed + "nothing listens there"));
    }
    tcp.non_blocking(true, ignored);
    SetUpSocket(tcp.native_handle());
    self->Handshake(peer, done);
  });
}

// TLS, if the connection has it.
void Connection::Handshake(const PeerIdentity& peer, std::function<void(const Status&)> done) {
  if (!tls_) return done(muster::Done{});
  if (!ExpectPeer(tls_->native_handle(), peer.name, !peer.skip_verify))
    return done(Unavailable("its name cannot be used with TLS"));
  tls_->async_handshake(asio::ssl::stream_base::client,
                        [self = shared_from_this(), done = std::move(done)](ErrorCode error) {
    if (self->closed_) return;
    if (error) return done(HandshakeError(self->tls_->native_handle(), error));
    done(muster::Done{});
  });
}

void Connection::Write(std::string bytes, std::function<bool()> may,
                       std::function<void(ErrorCode)> done) {
  out_ = std::move(bytes);
  socket_.Permit(std::move(may));
  auto written = [self = shared_from_this(), done = std::move(done)](ErrorCode error, std::size_t) {
    self->socket_.Permit(nullptr);
    if (self->closed_) return;
    self->out_ = {};
    done(error);
  };
  if (tls_) {
    asio::async_write(*tls_, asio::buffer(out_), std::move(written));
  } else {
    asio::async_write(socket_, asio::buffer(out_), std::move(written));
  }
}

void Connection::Read(std::function<void(ErrorCode, std::string_view)> done) {
  auto came = [self = shared_from_this(), done = std::move(done)](ErrorCode error, std::size_t n) {
    if (self->closed_) return;
    done(error, std::string_view(self->in_.data(), n));
  };
  if (tls_) {
    tls_->async_read_some(asio::buffer(in_), std::move(came));
  } else {
    socket_.async_read_some(asio::buffer(in_), std::move(came));
  }
}

void Connection::Close() {
  if (closed_) return;
  closed_ = true;
  ErrorCode ignored;
  socket_.tcp().close(ignored);
}

bool Connection::Quiet() {
  if (closed_) return false;
  char byte = 0;
  // A usable connection has nothing to read. A byte would be TLS's close alert, 0 the end of TCP.
  return ::recv(socket_.tcp().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
         (errno == EAGAIN || errno == EWOULDBLOCK);
}

}  // namespace muster::k8s
