// TLS to the server: whom the client trusts, what it shows, and the encrypted connection itself.
//
// Not thread-safe.
#pragma once

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

/// A TLS connection over a socket, with SocketStream's deadlines.
class TlsStream {
 public:
  using ErrorCode = SocketStream::ErrorCode;

  virtual ~TlsStream() = default;
  /// As recv and send: at least one byte, or `ec`. A connection that ends without TLS's own end is
  /// connection_reset, since somebody may have cut it.
  virtual std::size_t Read(void* bytes, std::size_t size, ErrorCode& ec) = 0;
  virtual std::size_t Write(const void* bytes, std::size_t size, ErrorCode& ec) = 0;
  /// Why the last call failed, if TLS knows more than its code; else "".
  virtual const std::string& problem() const = 0;
};

/// Shakes hands with `host` over `socket`, which must outlive the stream. The error is the end of a
/// sentence about the server: which of unknown authority, wrong name, expired, a port without TLS,
/// a refused client certificate, or an unusable file it was. `*timed_out`: the socket's deadline
/// has passed.
///
/// A program links one of two definitions: that of clients/lib/tls, or that of a program which
/// never asks by TLS and so starts without OpenSSL (clients/slurm/main/without_tls.cc).
Result<std::unique_ptr<TlsStream>> OpenTls(SocketStream& socket, const TlsSettings& settings,
                                           const std::string& host, bool* timed_out);

}  // namespace muster::client
