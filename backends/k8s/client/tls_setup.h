// TLS to a member: the trusted authorities, the client certificate, and sentences for failed
// handshakes.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <boost/system/error_code.hpp>
#include <memory>
#include <string>

#include "schedd/base/result.h"

namespace muster::k8s {

using TlsContext = boost::asio::ssl::context;

struct TlsMaterial {
  std::string ca_pem;  // "": the system's authorities
  std::string certificate_pem, key_pem;
  bool skip_verify = false;
  bool operator==(const TlsMaterial&) const = default;
};

/// TLS 1.2 or later. kUnauthenticated with one sentence that names the unusable part, never its
/// content. Thread-safe; connections on one strand may share the context.
Result<std::shared_ptr<TlsContext>> MakeTlsContext(const TlsMaterial& material);

/// The reason of a failed handshake. kUnauthenticated if the server's certificate is not trusted or
/// it refused ours; else kUnavailable. `detail` is the end of a sentence about the member.
Error HandshakeError(void* ssl, const boost::system::error_code& error);

/// True if the peer's TLS alert says that it does not accept our certificate. TLS 1.3 sends this
/// after the handshake, in place of an answer.
bool RefusesOurCertificate(const boost::system::error_code& error);

}  // namespace muster::k8s
