// TLS to the server: whom the client trusts, what it shows, and the encrypted connection itself.
//
// Not thread-safe.
#pragma once

#include <openssl/types.h>

#include <memory>
#include <string>

#include "clients/lib/socket_stream.h"
#include "schedd/base/result.h"

namespace muster::client {

struct TlsSettings {
  std::string ca_file;  // authorities of the server's certificate; "": the system's
  std::string certificate_file, key_file;  // shown to the server; "": none
  // The same as texts, from a credential plugin; they win over the files.
  std::string certificate_pem, key_pem;
  /// The server's certificate is not checked.
  bool skip_verify = false;
};

/// The text of a PEM file. The error names the file.
Result<std::string> ReadPemFile(const std::string& path);

/// A TLS connection over a socket, with SocketStream's deadlines.
class TlsStream {
 public:
  using ErrorCode = SocketStream::ErrorCode;

  /// Shakes hands with `host`. The error is the end of a sentence about the server: which of
  /// unknown authority, wrong name, expired, a port without TLS, a refused client certificate, or
  /// an unusable file it was. `*timed_out`: the socket's deadline has passed.
  static Result<std::unique_ptr<TlsStream>> Open(SocketStream& socket, const TlsSettings& settings,
                                                 const std::string& host, bool* timed_out);
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  /// As recv and send: at least one byte, or `ec`. A connection that ends without TLS's own end is
  /// connection_reset, since somebody may have cut it.
  std::size_t Read(void* bytes, std::size_t size, ErrorCode& ec);
  std::size_t Write(const void* bytes, std::size_t size, ErrorCode& ec);
  /// Why the last call failed, if TLS knows more than its code; else "".
  const std::string& problem() const { return problem_; }

 private:
  explicit TlsStream(SocketStream& socket) : socket_(socket) {}
  Status Prepare(const TlsSettings& settings, const std::string& host);
  Status Shake(const TlsSettings& settings, const std::string& host, bool* timed_out);
  /// After a call of OpenSSL that returned `result`: sends and receives what it waits for. True:
  /// call it again.
  bool Advance(int result, ErrorCode& ec);
  bool Flush(ErrorCode& ec);

  SocketStream& socket_;
  SSL_CTX* context_ = nullptr;
  SSL* ssl_ = nullptr;
  BIO *in_ = nullptr, *out_ = nullptr;  // owned by ssl_
  bool plain_ = false;                  // the server's first bytes are not TLS
  bool begun_ = false;
  std::string problem_;
};

}  // namespace muster::client
