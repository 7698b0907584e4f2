// TlsClient: the client's side of TLS for the load generator. The server's certificate is checked.
#pragma once

#include <openssl/types.h>

#include <memory>
#include <string>
#include <string_view>

#include "schedd/base/result.h"

namespace muster::bench {

/// One TLS connection over a socket that somebody else owns. Not thread-safe.
class TlsStream {
 public:
  /// Sends all of `text` and blocks meanwhile. False: the connection broke.
  bool Send(std::string_view text);
  /// Receives once and appends what it says, which may be nothing yet. False: the connection ended.
  bool Receive(std::string* text);

 private:
  friend class TlsClient;
  struct FreeSsl {
    void operator()(SSL* ssl) const;
  };
  TlsStream(SSL_CTX* context, int fd);
  bool Shake();
  bool Flush();
  bool Fill();

  std::unique_ptr<SSL, FreeSsl> ssl_;
  BIO *in_ = nullptr, *out_ = nullptr;  // owned by ssl_
  int fd_;
};

/// What all connections share. Must outlive them.
class TlsClient {
 public:
  /// `ca` is the PEM file of whom to trust. Errors: it cannot be read.
  static Result<TlsClient> Make(const std::string& ca);
  /// The handshake over a connected blocking socket, for the name localhost. Null: it failed.
  std::unique_ptr<TlsStream> Connect(int fd) const;

 private:
  explicit TlsClient(std::shared_ptr<SSL_CTX> context) : context_(std::move(context)) {}
  std::shared_ptr<SSL_CTX> context_;
};

}  // namespace muster::bench
