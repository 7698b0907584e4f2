// The TLS of a relay. gRPC gets its end of the socket pair only once the handshake is over, so a
// client that the handshake refuses costs gRPC nothing, and the client is known before gRPC has a
// byte of it. A piece that is encrypted can no longer be cut at the border of a frame: a connection
// that is cut in the middle of a long frame ends without a GOAWAY.
#include <sys/socket.h>

#include <utility>

#include "api/grpc/front/relay.h"

namespace muster::api::front {
namespace {

constexpr std::string_view kSpeaksTls =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n"
    "Content-Length: 22\r\n\r\nthis port speaks TLS.\n";

}  // namespace

void Relay::Secure(net::TlsContextPtr context, int server_end) {
  tls_ = std::make_unique<net::TlsFilter>(std::move(context), "h2", true);
  down_.tls = tls_.get();
  server_end_ = server_end;
}

int Relay::TakeServerEnd() { return std::exchange(server_end_, -1); }

// Bytes of the client's socket.
void Relay::OnCipher(std::string_view bytes) {
  const bool was_open = tls_->open();
  std::string plain;
  const net::TlsFilter::State state = tls_->Receive(bytes, &plain);
  if (state == net::TlsFilter::State::kPlain || state == net::TlsFilter::State::kFailed)
    return OnTlsFailed();
  if (!was_open && tls_->open()) host_.OnSecured(*this, *tls_);
  // A direction that waits for its socket sends this too, when it goes on.
  if (!tls_->wire().empty() && !down_.writing) Write(down_, {});
  if (closed_ || cut_) return;
  if (!plain.empty()) {
    if (!Count(up_, plain)) return;
    Write(up_, plain);
    if (closed_) return;
  }
  return state == net::TlsFilter::State::kEnded ? OnEnd(up_) : Read(up_);
}

// Sends the alert, or a sentence to a client that speaks plain HTTP, and ends the connection.
void Relay::OnTlsFailed() {
  const bool plain = tls_->state() == net::TlsFilter::State::kPlain;
  host_.OnRefused(plain ? "the client speaks no TLS" : tls_->problem());
  if (down_.writing) return Close();
  cut_ = true;
  server_.close();
  Leave();
  if (plain) down_.tls = nullptr;
  EndSoon();
  Write(down_, plain ? kSpeaksTls : std::string_view());
  if (!closed_ && !Holds(down_)) Linger();
}

// If the socket is full, nobody reads what it would say.
void Relay::EndTls() {
  if (tls_ == nullptr || !tls_->wire().empty()) return;
  tls_->End();
  const std::ptrdiff_t sent = SendSome(client_, tls_->wire());
  if (sent > 0) tls_->Sent(static_cast<std::size_t>(sent));
}

std::ptrdiff_t Relay::SendSome(Way& way, std::string_view bytes) {
  if (way.tls == nullptr) return SendSome(*way.to, bytes);
  std::size_t taken = 0;
  for (;;) {
    if (way.tls->wire().empty()) {
      if (taken == bytes.size()) return static_cast<std::ptrdiff_t>(taken);
      const std::size_t n = way.tls->Encrypt(bytes.substr(taken));
      if (n == 0) return -1;
      taken += n;
    }
    const std::string_view wire = way.tls->wire();
    const std::ptrdiff_t sent = SendSome(*way.to, wire);
    if (sent < 0) return -1;
    way.tls->Sent(static_cast<std::size_t>(sent));
    if (!way.tls->wire().empty()) return static_cast<std::ptrdiff_t>(taken);
  }
}

}  // namespace muster::api::front
