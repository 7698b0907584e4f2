// OpenSSL reads from and writes to two memory BIOs. Received bytes go into the first in pieces of
// one record, so that it never holds more; what OpenSSL wants to send is moved from the second to
// wire_ after every call. A client that makes the server answer (key updates, renegotiation) and
// reads nothing is ended when wire_ exceeds a bound.
#include "api/net/tls/tls_filter.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <utility>

#include "api/net/tls/certificate_text.h"
#include "schedd/base/limits.h"

namespace muster::net {
namespace {

// The content of one TLS record (RFC 8446, 5.1).
constexpr std::size_t kRecordBytes = 16 << 10;

// Requests begin with a method, which is letters; no TLS record does.
bool IsLetter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

// OpenSSL's first reason as text, and the queue is emptied: it belongs to the thread.
std::string TakeOpenSslReason() {
  const unsigned long code = ERR_peek_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return reason == nullptr ? "the client ended it" : reason;
}

}  // namespace

void TlsFilter::FreeSsl::operator()(SSL* ssl) const { SSL_free(ssl); }

TlsFilter::TlsFilter(TlsContextPtr context, std::string protocol, bool required)
    : context_(std::move(context)),
      protocol_(std::move(protocol)),
      required_(required),
      ssl_(SSL_new(context_->handle())) {
  in_ = BIO_new(BIO_s_mem());
  out_ = BIO_new(BIO_s_mem());
  if (ssl_ == nullptr || in_ == nullptr || out_ == nullptr) {
    BIO_free(in_);
    BIO_free(out_);
    ssl_.reset();
    Fail("there is no memory for TLS");
    return;
  }
  SSL_set_bio(ssl_.get(), in_, out_);
  SSL_set_accept_state(ssl_.get());
  // For the choice of the protocol (tls_context.cc).
  SSL_set_app_data(ssl_.get(), const_cast<std::string*>(&protocol_));
}

TlsFilter::~TlsFilter() = default;

void TlsFilter::Fail(std::string why) {
  state_ = State::kFailed;
  problem_ = std::move(why);
}

TlsFilter::State TlsFilter::Receive(std::string_view bytes, std::string* plain) {
  if (!begun_ && !bytes.empty()) {
    begun_ = true;
    if (state_ == State::kHandshake && IsLetter(bytes.front())) return state_ = State::kPlain;
  }
  while (!bytes.empty() && (state_ == State::kHandshake || state_ == State::kOpen)) {
    const std::string_view piece = bytes.substr(0, kRecordBytes);
    bytes.remove_prefix(piece.size());
    if (BIO_write(in_, piece.data(), static_cast<int>(piece.size())) !=
        static_cast<int>(piece.size())) {
      Fail("there is no memory for TLS");
      break;
    }
    if (state_ == State::kHandshake) Shake();
    if (state_ == State::kOpen) Read(plain);
    Collect();
    if (wire().size() > limits::kTlsWireBytes) Fail("the client does not read what it asks for");
  }
  return state_;
}

void TlsFilter::Shake() {
  ERR_clear_error();
  const int done = SSL_do_handshake(ssl_.get());
  if (done == 1) return OnOpen();
  if (SSL_get_error(ssl_.get(), done) == SSL_ERROR_WANT_READ) return;
  const long verdict = SSL_get_verify_result(ssl_.get());
  if (verdict == X509_V_OK) return Fail("the TLS handshake failed: " + TakeOpenSslReason());
  ERR_clear_error();
  Fail(std::string("the client's certificate is refused: ") +
       X509_verify_cert_error_string(verdict));
}

// OpenSSL has verified the client's certificate, if there is one.
void TlsFilter::OnOpen() {
  const unsigned char* chosen = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(ssl_.get(), &chosen, &size);
  if (required_ && size == 0) return Fail("the client did not ask for " + protocol_ + " by ALPN");
  if (X509* sent = SSL_get0_peer_certificate(ssl_.get())) {
    auto read = std::make_shared<PeerCertificate>();
    if (SSL_get_verify_result(ssl_.get()) != X509_V_OK || !ReadPeerCertificate(sent, read.get()))
      return Fail("the client's certificate is refused: its names are malformed");
    certificate_ = std::move(read);
  }
  opened_ = true;
  state_ = State::kOpen;
}

// Asks OpenSSL only while there is something that it has not seen or has not given out.
void TlsFilter::Read(std::string* plain) {
  char record[kRecordBytes];
  while (BIO_ctrl_pending(in_) > 0 || SSL_has_pending(ssl_.get()) == 1) {
    ERR_clear_error();
    const int n = SSL_read(ssl_.get(), record, sizeof record);
    if (n > 0) {
      plain->append(record, static_cast<std::size_t>(n));
      continue;
    }
    const int error = SSL_get_error(ssl_.get(), n);
    if (error == SSL_ERROR_WANT_READ) return;
    if (error == SSL_ERROR_ZERO_RETURN) {
      state_ = State::kEnded;
      return;
    }
    return Fail("the TLS connection failed: " + TakeOpenSslReason());
  }
}

std::size_t TlsFilter::Encrypt(std::string_view plain) {
  if (!open() || told_end_ || plain.empty()) return 0;
  plain = plain.substr(0, limits::kTlsPieceBytes);
  ERR_clear_error();
  const int n = SSL_write(ssl_.get(), plain.data(), static_cast<int>(plain.size()));
  Collect();
  if (n > 0) return static_cast<std::size_t>(n);
  Fail("the TLS connection failed: " + TakeOpenSslReason());
  return 0;
}

void TlsFilter::End() {
  if (!open() || std::exchange(told_end_, true)) return;
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
  ERR_clear_error();
  Collect();
}

void TlsFilter::Collect() {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(out_, &bytes);
  if (size <= 0) return;
  wire_.append(bytes, static_cast<std::size_t>(size));
  (void)BIO_reset(out_);
}

void TlsFilter::Sent(std::size_t bytes) {
  sent_ += bytes;
  if (sent_ < wire_.size()) return;
  sent_ = 0;
  wire_.clear();
  if (wire_.capacity() > kRecordBytes) wire_.shrink_to_fit();
}

}  // namespace muster::net
