#include "tests/unit/net_tls/tls_client_end.h"

#include <openssl/err.h>

#include "schedd/base/check.h"
#include "schedd/credentials/tls_material.h"

namespace muster::net::test {

ClientEnd::ClientEnd(const ClientOptions& options) : context_(SSL_CTX_new(TLS_client_method())) {
  SSL_CTX_set_security_level(context_, 0);
  if (!options.ca_pem.empty()) {
    MUSTER_CHECK(TrustAuthorities(context_, options.ca_pem));
    SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
  }
  if (options.version != 0) {
    SSL_CTX_set_min_proto_version(context_, options.version);
    SSL_CTX_set_max_proto_version(context_, options.version);
  }
  if (!options.ciphers.empty())
    MUSTER_CHECK(SSL_CTX_set_cipher_list(context_, options.ciphers.c_str()) == 1);
  if (!options.identity.certificate_pem.empty()) {
    MUSTER_CHECK(UseCertificate(context_, options.identity.certificate_pem,
                                options.identity.key_pem) == CertificateProblem::kNone);
  }
  ssl_ = SSL_new(context_);
  SSL_set_bio(ssl_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  SSL_set_connect_state(ssl_);
  if (options.alpn.empty()) return;
  const std::string wire = static_cast<char>(options.alpn.size()) + options.alpn;
  SSL_set_alpn_protos(ssl_, reinterpret_cast<const unsigned char*>(wire.data()),
                      static_cast<unsigned>(wire.size()));
}

ClientEnd::~ClientEnd() {
  SSL_free(ssl_);
  SSL_CTX_free(context_);
}

std::string ClientEnd::Take() {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(SSL_get_wbio(ssl_), &bytes);
  std::string out(bytes, size > 0 ? static_cast<std::size_t>(size) : 0);
  (void)BIO_reset(SSL_get_wbio(ssl_));
  return out;
}

// Goes on as far as it can with what has come.
void ClientEnd::Give(std::string_view bytes) {
  if (!bytes.empty()) BIO_write(SSL_get_rbio(ssl_), bytes.data(), static_cast<int>(bytes.size()));
  char piece[4096];
  for (;;) {
    ERR_clear_error();
    const bool shaking = SSL_is_init_finished(ssl_) != 1;
    const int n = shaking ? SSL_do_handshake(ssl_) : SSL_read(ssl_, piece, sizeof piece);
    if (n > 0) {
      if (!shaking) read_.append(piece, static_cast<std::size_t>(n));
      continue;
    }
    const int error = SSL_get_error(ssl_, n);
    ended_ = ended_ || error == SSL_ERROR_ZERO_RETURN;
    failed_ = failed_ || error == SSL_ERROR_SSL;
    return;
  }
}

void ClientEnd::Write(std::string_view plain) {
  MUSTER_CHECK(SSL_write(ssl_, plain.data(), static_cast<int>(plain.size())) > 0);
}

TlsFilter::State ClientEnd::Talk(TlsFilter& server, std::string* at_server, std::size_t piece) {
  for (;;) {
    Give({});
    const std::string up = Take();
    for (std::size_t at = 0; at < up.size(); at += piece)
      server.Receive(std::string_view(up).substr(at, piece), at_server);
    const std::string down(server.wire());
    server.Sent(down.size());
    for (std::size_t at = 0; at < down.size(); at += piece)
      Give(std::string_view(down).substr(at, piece));
    if (up.empty() && down.empty()) return server.state();
  }
}

}  // namespace muster::net::test
