// OpenSSL works on two memory BIOs: one `recv` takes whatever has arrived, and nothing waits for
// the rest of a record while other connections have answers.
#include "tests/bench/tls_client.h"

#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

namespace muster::bench {

void TlsStream::FreeSsl::operator()(SSL* ssl) const { SSL_free(ssl); }

TlsStream::TlsStream(SSL_CTX* context, int fd)
    : ssl_(SSL_new(context)), in_(BIO_new(BIO_s_mem())), out_(BIO_new(BIO_s_mem())), fd_(fd) {
  SSL_set_bio(ssl_.get(), in_, out_);
  SSL_set_connect_state(ssl_.get());
  SSL_set1_host(ssl_.get(), "localhost");
  SSL_set_tlsext_host_name(ssl_.get(), "localhost");
}

bool TlsStream::Flush() {
  char* bytes = nullptr;
  const auto size = static_cast<std::size_t>(BIO_get_mem_data(out_, &bytes));
  for (std::size_t sent = 0; sent < size;) {
    const auto n = send(fd_, bytes + sent, size - sent, MSG_NOSIGNAL);
    if (n <= 0) return false;
    sent += static_cast<std::size_t>(n);
  }
  (void)BIO_reset(out_);
  return true;
}

bool TlsStream::Fill() {
  char buffer[65536];
  const auto n = recv(fd_, buffer, sizeof buffer, 0);
  return n > 0 && BIO_write(in_, buffer, static_cast<int>(n)) == n;
}

bool TlsStream::Shake() {
  for (;;) {
    const int done = SSL_do_handshake(ssl_.get());
    if (!Flush()) return false;
    if (done == 1) return true;
    if (SSL_get_error(ssl_.get(), done) != SSL_ERROR_WANT_READ || !Fill()) return false;
  }
}

bool TlsStream::Send(std::string_view text) {
  return SSL_write(ssl_.get(), text.data(), static_cast<int>(text.size())) > 0 && Flush();
}

bool TlsStream::Receive(std::string* text) {
  if (!Fill()) return false;
  char record[16384];
  for (int n = 0;;) {
    n = SSL_read(ssl_.get(), record, sizeof record);
    if (n <= 0) return SSL_get_error(ssl_.get(), n) == SSL_ERROR_WANT_READ;
    text->append(record, static_cast<std::size_t>(n));
  }
}

Result<TlsClient> TlsClient::Make(const std::string& ca) {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  if (SSL_CTX_load_verify_locations(context.get(), ca.c_str(), nullptr) != 1)
    return Internal("the certificate in " + ca + " cannot be read");
  return TlsClient(std::move(context));
}

std::unique_ptr<TlsStream> TlsClient::Connect(int fd) const {
  std::unique_ptr<TlsStream> stream(new TlsStream(context_.get(), fd));
  return stream->Shake() ? std::move(stream) : nullptr;
}

}  // namespace muster::bench
