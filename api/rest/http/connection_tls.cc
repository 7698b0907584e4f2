// The TLS of a connection (rule U40): what Pistache's thread reads passes the filter before the
// guard sees it, and what the connection writes passes it before `send`. The filter encrypts a
// piece only when the one before has left, so a slow reader holds one piece of ciphertext and the
// backlog stays in out_, where its bounds are.
#include <sys/socket.h>

#include <utility>

#include "api/rest/http/connection.h"
#include "schedd/telemetry/log.h"

namespace muster::rest {

// A Unix socket never leaves the host, and its clients speak plain HTTP.
void Connection::Secure(net::TlsContextPtr context) {
  const MutexLock lock(mutex_);
  if (peer_ != nullptr && peer_->kind == net::Peer::Kind::kUnix) return;
  tls_ = std::make_unique<net::TlsFilter>(std::move(context), "http/1.1", false);
  reader_.ExpectHttps(&tls_->context().names());
}

// False if there is nothing for the guard: the handshake goes on, or the connection ends.
bool Connection::DecryptLocked(std::string_view bytes, std::string* plain) {
  const bool was_open = tls_->open();
  switch (tls_->Receive(bytes, plain)) {
    case net::TlsFilter::State::kPlain:
      // Answered in plain text, since that is what the client speaks.
      reader_.ExpectHttps(nullptr);
      tls_.reset();
      RefuseLocked({400, "this port speaks TLS: use https://", false, ""});
      return false;
    case net::TlsFilter::State::kFailed:
      OnTlsFailedLocked();
      return false;
    case net::TlsFilter::State::kEnded:
      input_ended_ = true;
      break;
    case net::TlsFilter::State::kHandshake:
    case net::TlsFilter::State::kOpen:
      break;
  }
  if (!was_open && tls_->open()) OnSecuredLocked();
  // Nothing of an answer waits now, unless the socket is full, and then nothing is sent here.
  if (!tls_->wire().empty()) FlushLocked();
  return state_ == State::kOpen && tls_->open();
}

// From now on the connection is known by what TLS says of its other end.
void Connection::OnSecuredLocked() {
  auto peer =
      peer_ == nullptr ? std::make_shared<net::Peer>() : std::make_shared<net::Peer>(*peer_);
  peer->encrypted = true;
  peer->certificate = tls_->certificate();
  peer_ = std::move(peer);
  since_ = host_->tick.load();
}

// The client gets the alert that says why; at most one log line a second.
void Connection::OnTlsFailedLocked() {
  host_->tls_refused.Add();
  const std::int64_t tick = host_->tick.load();
  if (host_->tls_logged.exchange(tick) != tick) {
    Log(LogLevel::kWarning, "rest", "tls_refused",
        {{"msg", tls_->problem()}, {"client", peer_ == nullptr ? std::string() : peer_->address}});
  }
  const bool told = FlushLocked();
  if (state_ == State::kClosed) return;
  return told && !busy_ ? LingerLocked() : CloseLocked();
}

// What `send` takes next; empty when everything has left.
std::string_view Connection::NextLocked() {
  const std::string_view left = std::string_view(out_).substr(sent_);
  if (tls_ == nullptr) return left;
  if (tls_->wire().empty() && !left.empty()) sent_ += tls_->Encrypt(left);
  return tls_->wire();
}

void Connection::LeftLocked(std::size_t bytes) {
  progress_ = host_->tick.load();
  if (tls_ == nullptr)
    sent_ += bytes;
  else
    tls_->Sent(bytes);
}

// Tells the client that the connection ends in good order. If the socket is full, nobody reads.
void Connection::EndTlsLocked() {
  if (tls_ == nullptr || !tls_->wire().empty() || fd_ < 0) return;
  tls_->End();
  const std::string_view last = tls_->wire();
  if (last.empty()) return;
  (void)!::send(fd_, last.data(), last.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  tls_->Sent(last.size());
}

}  // namespace muster::rest
