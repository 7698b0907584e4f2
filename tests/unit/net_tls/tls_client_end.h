// The client's end of a TLS connection in memory, by OpenSSL itself.
#pragma once

#include <openssl/ssl.h>

#include <string>
#include <string_view>

#include "api/net/tls/tls_filter.h"
#include "tests/unit/k8s_client/test_certificates.h"

namespace muster::net::test {

struct ClientOptions {
  std::string ca_pem;            // "": the server's certificate is not checked
  k8s::test::Identity identity;  // shown to the server; empty: none
  std::string alpn;              // "": none is offered
  int version = 0;               // the only version, such as TLS1_2_VERSION; 0: any
  std::string ciphers;           // of TLS 1.2; "": OpenSSL's, at security level 0
};

class ClientEnd {
 public:
  explicit ClientEnd(const ClientOptions& options);
  ~ClientEnd();
  ClientEnd(const ClientEnd&) = delete;
  ClientEnd& operator=(const ClientEnd&) = delete;

  /// Passes bytes both ways until neither end has any, `piece` bytes at a time, and appends what
  /// the server has read to `at_server`.
  TlsFilter::State Talk(TlsFilter& server, std::string* at_server, std::size_t piece = 1 << 20);
  /// True once the client's handshake is over and nothing has failed.
  bool open() const { return SSL_is_init_finished(ssl_) == 1 && !failed_; }
  void Write(std::string_view plain);
  const std::string& read() const { return read_; }
  bool ended() const { return ended_; }  // the server has said close_notify
  SSL* ssl() { return ssl_; }

 private:
  /// What the client wants to send.
  std::string Take();
  void Give(std::string_view bytes);

  SSL_CTX* const context_;
  SSL* ssl_ = nullptr;
  std::string read_;
  bool failed_ = false, ended_ = false;
};

}  // namespace muster::net::test
